package vm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// report is what the guest has written so far.
type report struct {
	cases []result
	over  bool // the guest has come to its end
}

// result is one case.
type result struct {
	name  string
	lines []string // as "pass TEXT", "fail TEXT" or "note TEXT"
	ended bool
}

// add takes one line in. Lines before the first case and lines of no known kind are left out: a serial port may have
// anything at its start.
func (r *report) add(line string) {
	kind, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	last := len(r.cases) - 1
	switch {
	case kind == "case":
		r.cases = append(r.cases, result{name: text})
	case kind == "over":
		r.over = true
	case last < 0:
	case kind == "end":
		r.cases[last].ended = r.cases[last].ended || r.cases[last].name == text
	case kind == "pass", kind == "fail", kind == "note":
		r.cases[last].lines = append(r.cases[last].lines, kind+" "+text)
	}
}

// faults returns why a case has not passed; nothing: it has.
func (r *report) faults(name string) (out []string) {
	i := slices.IndexFunc(r.cases, func(c result) bool { return c.name == name })
	if i < 0 {
		return []string{"the guest has not come to this case"}
	}
	passed := 0
	for _, line := range r.cases[i].lines {
		switch kind, text, _ := strings.Cut(line, " "); kind {
		case "fail":
			out = append(out, text)
		case "pass":
			passed++
		}
	}
	if !r.cases[i].ended {
		out = append(out, "the guest has not come to the end of this case")
	}
	if passed == 0 {
		out = append(out, "nothing was checked")
	}
	return out
}

// unknown returns the cases that the guest has carried out and that are not in a list.
func (r *report) unknown(names []string) (out []string) {
	for i := range r.cases {
		if !slices.Contains(names, r.cases[i].name) {
			out = append(out, r.cases[i].name)
		}
	}
	return out
}

// A case passes if it has come to its end, something was checked, and nothing failed.
func TestReport(t *testing.T) {
	t.Parallel()
	r := &report{}
	for line := range strings.Lines("\x00pass noise\r\ncase a\r\nnote n\r\npass one\r\nend a\r\ncase b\r\npass one\r\nfail two: x, not y\r\nend b\r\n" +
		"case c\r\npass one\r\nend b\r\ncase d\r\nend d\r\ncase e\r\nnoise\r\npass one\r\nend e\r\n") {
		r.add(line)
	}
	for name, want := range map[string]string{
		"a": "[]", "b": "[two: x, not y]", "c": "[the guest has not come to the end of this case]",
		"d": "[nothing was checked]", "e": "[]", "f": "[the guest has not come to this case]",
	} {
		if got := fmt.Sprint(r.faults(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if r.over {
		t.Error("the guest has come to its end")
	}
	if r.add("over\r\n"); !r.over {
		t.Error("the guest has not come to its end")
	}
	if got := fmt.Sprint(r.unknown([]string{"a", "b", "c", "d"})); got != "[e]" {
		t.Errorf("unknown are %s", got)
	}
}
