package raftstore

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestSpaceLow(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for _, tc := range []struct {
		free, total uint64
		low         bool
	}{
		{511 * mib, 1 * gib, true},
		{512 * mib, 1 * gib, false},
		{1*gib - 1, 20 * gib, true},
		{1 * gib, 20 * gib, false},
		{2*gib - 1, 252 * gib, true},
		{2 * gib, 252 * gib, false},
		{1 << 40, 1 << 50, false},
		{0, 0, true},
	} {
		if got := (Space{Free: tc.free, Total: tc.total}).Low(); got != tc.low {
			t.Errorf("%d of %d bytes free: low = %v", tc.free, tc.total, got)
		}
	}
}

func TestBallastHoldsRealBlocks(t *testing.T) {
	o := small(t.TempDir())
	o.Ballast = 3<<20 + 5
	path := filepath.Join(o.Dir, ballastName)
	s := open(t, o)
	var st syscall.Stat_t
	check(t, syscall.Stat(path, &st))
	if st.Size != o.Ballast || st.Blocks*512 < o.Ballast {
		t.Errorf("the ballast has %d bytes in %d blocks of 512", st.Size, st.Blocks)
	}
	check(t, os.Remove(path)) // as an operator does whose disk is full
	check(t, s.Close())
	check(t, open(t, o).Close())
	if got := missingBallast(o.Dir, o.Ballast); got != 0 {
		t.Errorf("%d bytes of ballast are missing after the next start", got)
	}
}

func TestFreeSpaceOfARealDisk(t *testing.T) {
	space, err := spaceOf(t.TempDir())
	check(t, err)
	if space.Free == 0 || space.Free > space.Total {
		t.Errorf("%+v", space)
	}
	if _, err := spaceOf("/does/not/exist"); err == nil {
		t.Error("a folder that does not exist has space")
	}
}

func TestProbeFsync(t *testing.T) {
	dir := t.TempDir()
	p50, fs, err := ProbeFsync(dir)
	check(t, err)
	if p50 <= 0 || fs == "" {
		t.Errorf("p50 %v on %q", p50, fs)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("the probe left %v", left)
	}
	if fs, err := fileSystem("/dev/shm"); err == nil && fs != "tmpfs" {
		t.Errorf("/dev/shm is %q", fs)
	}
	if _, _, err := ProbeFsync("/does/not/exist"); err == nil {
		t.Error("a folder that does not exist was measured")
	}
}
