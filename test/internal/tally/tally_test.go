package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const passing = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"pass","Package":"p","Elapsed":0.2}
{"Action":"skip","Package":"empty"}
`

func TestTally(t *testing.T) {
	for name, c := range map[string]struct {
		events string
		good   bool
		last   string
		shows  string
	}{
		"nothing": {"", false, "0 passed, 0 failed", "0 packages ok"},
		"passing": {passing, true, "1 passed, 0 failed", "1 packages ok, 0 failed, 1 without tests; 1 tests skipped"},
		"failing": {
			passing + `{"Action":"output","Package":"q","Test":"TestC","Output":"c_test.go:3: no\n"}
{"Action":"fail","Package":"q","Test":"TestC"}
{"Action":"fail","Package":"q","Elapsed":1}
`, false, "1 passed, 1 failed", "c_test.go:3: no",
		},
		"build": {
			passing + `{"Action":"build-output","ImportPath":"r","Output":"r.go:1: undefined\n"}
{"Action":"build-fail","ImportPath":"r"}
{"Action":"fail","Package":"r","FailedBuild":"r"}
`, false, "1 passed, 1 failed", "r.go:1: undefined",
		},
		"crash": {
			passing + `{"Action":"output","Package":"s","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"s","Elapsed":9}
`, false, "1 passed, 1 failed", "panic: test timed out",
		},
		"cut off": {passing + `{"Action":"start","Package":"u"}
{"Action":"output","Package":"u","Output":"x\n"}
`, false, "1 passed, 1 failed", "did not end"},
		"warning": {"go: downloading x\n" + passing, true, "1 passed, 0 failed", "go: downloading x"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			tally := newTally()
			if err := tally.read(strings.NewReader(c.events), &out); err != nil {
				t.Fatal(err)
			}
			tally.print(&out)
			if tally.good() != c.good {
				t.Errorf("good is %t, want %t", tally.good(), c.good)
			}
			if !strings.HasSuffix(out.String(), "\n"+c.last+"\n") {
				t.Errorf("the last line is not %q:\n%s", c.last, out.String())
			}
			if !strings.Contains(out.String(), c.shows) {
				t.Errorf("%q is not shown:\n%s", c.shows, out.String())
			}
			if strings.Contains(out.String(), "quiet") {
				t.Errorf("what a passing test printed is shown:\n%s", out.String())
			}
		})
	}
}

// TestReadFails checks that a broken pipe is not taken for the end of the run.
func TestReadFails(t *testing.T) {
	broken := errors.New("broken")
	err := newTally().read(iotest.ErrReader(broken), &strings.Builder{})
	if !errors.Is(err, broken) {
		t.Errorf("read returned %v, want %v", err, broken)
	}
}

// The totals name the packages that took longest, with all their runs.
func TestSlowest(t *testing.T) {
	t.Parallel()
	var events, out strings.Builder
	for i := range slowest + 1 {
		fmt.Fprintf(&events, `{"Action":"pass","Package":"p%d","Test":"TestA"}`+"\n", i)
		fmt.Fprintf(&events, `{"Action":"pass","Package":"p%d","Elapsed":%d}`+"\n", i, i)
	}
	events.WriteString(`{"Action":"pass","Package":"p1","Elapsed":90}` + "\n")
	c := newTally()
	if err := c.read(strings.NewReader(events.String()), io.Discard); err != nil {
		t.Fatal(err)
	}
	c.print(&out)
	_, list, _ := strings.Cut(out.String(), "the slowest packages:\n")
	if !strings.HasPrefix(list, "   91.0s  p1\n   10.0s  p10\n    9.0s  p9\n") || strings.Contains(list, "p0\n") {
		t.Errorf("printed:\n%s", list)
	}
}
