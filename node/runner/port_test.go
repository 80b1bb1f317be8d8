package runner

import (
	"errors"
	"net"
	"os"
	"strconv"
	"testing"
)

// A port is one that the kernel gives to no connection, is taken for all others until the rank may have it, and stays marked until the rank
// has ended.
func TestReservePort(t *testing.T) {
	t.Parallel()
	first, last := outside(os.ReadFile(portRange))
	seen := map[uint16]bool{}
	for range 50 {
		p := ReservePort()
		if p == nil {
			t.Fatal("there is no port")
		}
		t.Cleanup(func() { p.Close() })
		if n := int(p.Number); n < first || n > last || seen[p.Number] {
			t.Errorf("the port is %d, want another one from %d to %d", n, first, last)
		}
		seen[p.Number] = true
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(p.Number)))
		if l, err := net.Listen("tcp", address); err == nil {
			t.Errorf("the port %d is not held: %v", p.Number, l.Close())
		}
		p.Open()
		if again := reserve(int(p.Number)); again != nil {
			t.Errorf("the port %d is given to two ranks", p.Number)
			again.Close()
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Errorf("the rank cannot have its port: %v", err)
			continue
		}
		_ = l.Close()
	}
	var none *Port
	none.Close()
}

func TestPortsOutsideOfTheRange(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		"32768\t60999\n": {20_000, 32_767}, "": {20_000, 32_767}, "x": {20_000, 32_767}, "1024 40000": {40_001, 65_535}, "1024\t65535\n": {64_535, 65_535},
		"61000 65000": {20_000, 60_999},
	} {
		if first, last := outside([]byte(text), nil); first != want[0] || last != want[1] {
			t.Errorf("%q: %d to %d, want %v", text, first, last, want)
		}
	}
	if first, last := outside(nil, errors.New("not there")); first != lowestPort || last != 32_767 {
		t.Errorf("without the file: %d to %d", first, last)
	}
}
