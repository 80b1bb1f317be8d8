package process

import (
	"slices"
	"testing"
)

// Only pages that can be read again from the program's own file are released.
func TestClean(t *testing.T) {
	const smaps = `00400000-00900000 r-xp 00000000 fe:00 77 /bin/berth
Size:               5120 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00900000-00a00000 r--p 00500000 fe:00 77 /bin/berth
Anonymous:             0 kB
00a00000-00a10000 r--p 00600000 fe:00 77 /bin/berth
Anonymous:            64 kB
00a10000-00a20000 rw-p 00610000 fe:00 77 /bin/berth
Anonymous:             0 kB
00a20000-00a30000 r--p 00000000 fe:00 78 /lib/libc.so.6
Anonymous:             0 kB
00b00000-00c00000 r--p 00000000 fe:00 77 /bin/berth (deleted)
Anonymous:             0 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Anonymous:             0 kB

garbage
zz-1 r--p 0 0 0 /bin/berth
Anonymous: 0 kB
`
	want := []mapping{{0x400000, 0x900000}, {0x900000, 0xa00000}}
	if got := clean([]byte(smaps), "/bin/berth"); !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	trim() // and this test goes on
	if got := clean([]byte(smaps), "/bin/berth"); !slices.Equal(got, want) {
		t.Errorf("afterwards: %x", got)
	}
}
