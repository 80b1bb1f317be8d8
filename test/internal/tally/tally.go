package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is one line of `go test -json`, as `go doc test2json` describes it. The
// events of a build name the package in ImportPath.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// counts adds up how tests, or packages, ended.
type counts struct{ passed, failed, skipped int }

// tally is what has been seen of a run.
type tally struct {
	tests    counts
	packages counts
	running  map[string]*pkg
	took     map[string]float64          // seconds that the tests of a package ran, in all its runs
	built    map[string]*strings.Builder // a build's output, by import path
}

// pkg is one package whose tests run.
type pkg struct {
	tests  counts
	output map[string]*strings.Builder // what each test printed, "" for the package itself
}

func newTally() *tally {
	return &tally{running: make(map[string]*pkg), took: make(map[string]float64), built: make(map[string]*strings.Builder)}
}

// read takes in a whole run and reports each package to w when it ends. A line
// that is no event, such as a warning of the go command, is passed on.
func (t *tally) read(r io.Reader, w io.Writer) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		var e event
		switch {
		case line == "":
		case json.Unmarshal([]byte(line), &e) != nil:
			fmt.Fprint(w, line)
		default:
			t.take(e, w)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

// take counts one event.
func (t *tally) take(e event, w io.Writer) {
	switch {
	case e.Action == "build-output":
		t.build(e.ImportPath).WriteString(e.Output)
	case e.Action == "build-fail":
		fmt.Fprint(w, t.build(e.ImportPath).String())
	case e.Package == "":
	case e.Action == "output":
		t.pkg(e.Package).write(e.Test, e.Output)
	case e.Test != "":
		t.test(e, w)
	default:
		t.end(e, w)
	}
}

// test counts the end of a test and shows what a failed one printed.
func (t *tally) test(e event, w io.Writer) {
	p := t.pkg(e.Package)
	if !p.tests.add(e.Action) {
		return
	}
	if out := p.output[e.Test]; out != nil && e.Action == "fail" {
		fmt.Fprint(w, out.String())
	}
	delete(p.output, e.Test)
}

// end counts the end of a package. One that failed without a failed test (it
// did not build, it crashed, it took too long) counts as one failed test, and
// all that it printed is shown.
func (t *tally) end(e event, w io.Writer) {
	if !t.packages.add(e.Action) {
		return
	}
	p := t.pkg(e.Package)
	delete(t.running, e.Package)
	word := "ok"
	switch e.Action {
	case "skip":
		return // no tests in it
	case "fail":
		word = "FAIL"
		if p.tests.failed == 0 {
			p.tests.failed = 1
			for _, out := range p.output {
				fmt.Fprint(w, out.String())
			}
		}
	}
	t.tests.merge(p.tests)
	t.took[e.Package] += e.Elapsed
	fmt.Fprintf(w, "%-5s %s  %.1fs  %d tests\n", word, e.Package, e.Elapsed, p.tests.passed+p.tests.failed)
}

// print writes the totals. The last line is the one to look for.
func (t *tally) print(w io.Writer) {
	for name := range t.running {
		fmt.Fprintf(w, "FAIL  %s  did not end\n", name)
	}
	t.printSlowest(w)
	fmt.Fprintf(w, "\n%d packages ok, %d failed, %d without tests; %d tests skipped\n",
		t.packages.passed, t.packages.failed+len(t.running), t.packages.skipped, t.tests.skipped)
	fmt.Fprintf(w, "%d passed, %d failed\n", t.tests.passed, t.tests.failed+len(t.running))
}

// slowest is how many packages printSlowest lists.
const slowest = 10

// printSlowest writes the packages of which the tests took longest, if there are enough to choose from.
func (t *tally) printSlowest(w io.Writer) {
	if len(t.took) <= slowest {
		return
	}
	names := slices.SortedFunc(maps.Keys(t.took), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.took[b], t.took[a]), cmp.Compare(a, b))
	})
	fmt.Fprintln(w, "\nthe slowest packages:")
	for _, name := range names[:slowest] {
		fmt.Fprintf(w, "%7.1fs  %s\n", t.took[name], name)
	}
}

// good reports whether tests ran and all of them passed.
func (t *tally) good() bool {
	return t.tests.passed > 0 && t.tests.failed == 0 && t.packages.failed == 0 && len(t.running) == 0
}

func (t *tally) pkg(name string) *pkg {
	if t.running[name] == nil {
		t.running[name] = &pkg{output: make(map[string]*strings.Builder)}
	}
	return t.running[name]
}

func (t *tally) build(name string) *strings.Builder {
	if t.built[name] == nil {
		t.built[name] = &strings.Builder{}
	}
	return t.built[name]
}

func (p *pkg) write(test, text string) {
	if p.output[test] == nil {
		p.output[test] = &strings.Builder{}
	}
	p.output[test].WriteString(text)
}

// add counts an action that ends something; others are not counted.
func (c *counts) add(action string) bool {
	switch action {
	case "pass":
		c.passed++
	case "fail":
		c.failed++
	case "skip":
		c.skipped++
	default:
		return false
	}
	return true
}

func (c *counts) merge(o counts) {
	c.passed += o.passed
	c.failed += o.failed
	c.skipped += o.skipped
}
