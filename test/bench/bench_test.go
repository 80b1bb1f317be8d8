package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-gpu/berth/cluster/figures"
	"github.com/berth-gpu/berth/cluster/peer"
)

// TestMain lets this test's own program be a child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childMode {
		if err := beChild(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, c := range []struct {
		of   []time.Duration
		p    float64
		want time.Duration
	}{{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100}, {hundred, 0, 1}, {hundred[:1], 99, 1}, {hundred[:30], 99, 30}, {nil, 50, 0}} {
		if got := figures.Percentile(c.of, c.p); got != c.want {
			t.Errorf("percentile %v of %d values is %d, want %d", c.p, len(c.of), got, c.want)
		}
	}
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {nil, 0}} {
		if got := figures.Median(c.of); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.of, got, c.want)
		}
	}
}

// What callers saw is summed over all of them; failures are counted apart.
func TestSum(t *testing.T) {
	got := sum([]share{
		{waits: []time.Duration{5, 1}, warm: 2},
		{waits: []time.Duration{3}, warm: 1, failed: 2, why: errors.New("no")},
	})
	if want := (loadResult{Count: 3, All: 6, Failed: 2, Why: "no", P50: 3, P99: 5}); got != want {
		t.Errorf("summed up %+v, want %+v", got, want)
	}
}

// fake is an engine whose commands begin to succeed when it is let lead.
type fake struct{ leads chan struct{} }

func (f *fake) status() status { return status{Term: 7} }
func (f *fake) close() error   { return nil }
func (f *fake) workload(name string, _ int) (proposer, error) {
	if name == "nonsense" {
		return nil, errors.New("no such workload")
	}
	return func(int) error {
		select {
		case <-f.leads:
			return nil
		default:
			return errors.New("not now")
		}
	}, nil
}

// talk runs a child in this process.
func talk(t *testing.T, e engine) (ask func(request), hear func() reply) {
	t.Helper()
	in, toChild := io.Pipe()
	fromChild, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(e, in, out); _ = out.Close() }()
	t.Cleanup(func() {
		_ = toChild.Close()
		if err := <-ended; err != nil {
			t.Errorf("the child ended with %v", err)
		}
	})
	to, from := json.NewEncoder(toChild), json.NewDecoder(fromChild)
	ask = func(q request) {
		if err := to.Encode(q); err != nil {
			t.Error(err)
		}
	}
	return ask, func() (a reply) {
		if err := from.Decode(&a); err != nil {
			t.Error(err)
		}
		return a
	}
}

// A child answers each request under its id, also while a probe is under way; the
// probe ends with the first command that succeeds, or when it is told to.
func TestChildAnswers(t *testing.T) {
	e := &fake{leads: make(chan struct{})}
	ask, hear := talk(t, e)
	ask(request{ID: 1, Op: opStatus})
	if a := hear(); a.ID != 1 || a.Status == nil || a.Status.Term != 7 {
		t.Errorf("the status is %+v", a)
	}
	ask(request{ID: 2, Op: "dance"})
	if a := hear(); a.ID != 2 || !strings.Contains(a.Error, "dance") {
		t.Errorf("an unknown operation is answered %+v", a)
	}
	ask(request{ID: 3, Op: opLoad, Load: &loadSpec{Workload: "nonsense", Callers: 1}})
	if a := hear(); a.ID != 3 || a.Error == "" {
		t.Errorf("an unknown workload is answered %+v", a)
	}
	before := monotonic()
	ask(request{ID: 4, Op: opProbe})
	ask(request{ID: 5, Op: opStatus})
	if a := hear(); a.ID != 5 {
		t.Errorf("the probe holds the status up: %+v", a)
	}
	close(e.leads)
	if a := hear(); a.ID != 4 || a.At <= before || a.Error != "" {
		t.Errorf("the probe ends with %+v", a)
	}
	ask(request{ID: 6, Op: opLoad, Load: &loadSpec{Workload: loadTouch, Callers: 2, Run: time.Millisecond}})
	if a := hear(); a.ID != 6 || a.Load == nil || a.Load.Count == 0 || a.Load.Failed > 0 {
		t.Errorf("the load came to %+v", a)
	}
}

func TestAProbeEndsWhenToldTo(t *testing.T) {
	c := &child{e: &fake{leads: make(chan struct{})}, calm: func() {}}
	first := make(chan error, 1)
	begun := c.begin() // so that the next probe takes its place
	go func() {
		_, err := c.probe()
		first <- err
	}()
	<-begun.Done()
	c.end()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the probe ended with %v", err)
	}
}

func TestLeveled(t *testing.T) {
	even := [3]status{{Term: 3, Applied: 9}, {Leads: true, Term: 3, Applied: 9}, {Term: 3, Applied: 9}}
	if leader, ok := leveled(even); !ok || leader != 1 {
		t.Errorf("leader %d, level %v", leader, ok)
	}
	for name, change := range map[string]func(*[3]status){
		"no leader":          func(s *[3]status) { s[1].Leads = false },
		"two lead":           func(s *[3]status) { s[0].Leads = true },
		"a follower lags":    func(s *[3]status) { s[2].Applied = 8 },
		"one is behind in T": func(s *[3]status) { s[0].Term = 2 },
	} {
		all := even
		change(&all)
		if _, ok := leveled(all); ok {
			t.Errorf("%s, and yet they are level", name)
		}
	}
}

// New terms count even if the same peer leads again.
func TestWatch(t *testing.T) {
	w := watch{term: 2, leader: 0}
	for _, now := range [][3]status{
		{{Leads: true, Term: 2}, {Term: 2}, {Term: 2}},
		{{Term: 2}, {Term: 3}, {Term: 3}},
		{{Leads: true, Term: 4}, {Term: 4}, {Term: 4}},
		{{Leads: true, Term: 4}, {Leads: true, Term: 5}, {Term: 5}},
	} {
		w.see(now)
	}
	if want := (watch{term: 5, leader: 1, terms: 3, changes: 1}); w != want {
		t.Errorf("seen %+v, want %+v", w, want)
	}
}

func TestParse(t *testing.T) {
	s, err := parse([]string{"failover", "-trials", "5", "-callers", "2,8"}, io.Discard, io.Discard)
	if err != nil || !slices.Equal(s.parts, []string{"failover"}) || s.trials != 5 || !slices.Equal(s.callers, []int{2, 8}) {
		t.Errorf("parsed %+v: %v", s, err)
	}
	if s, err = parse([]string{"all"}, io.Discard, io.Discard); err != nil || len(s.parts) != 3 {
		t.Errorf("all is %v: %v", s.parts, err)
	}
	for _, args := range [][]string{{"nap"}, {"-callers", "0"}, {"-runs", "0"}, {"-md", "commit"}} {
		if _, err := parse(args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	list := []peer.Server{{ID: "a", Address: "127.0.0.1:1"}, {ID: "b", Address: "127.0.0.1:2"}}
	back, err := parsePeers(formatPeers(list))
	if err != nil || !cmp.Equal(list, back) {
		t.Errorf("%v became %v: %v", list, back, err)
	}
}

func TestTable(t *testing.T) {
	v := figures.Table{Title: "T", Head: []string{"a", "b"}}
	v.Add("1", figures.Count(1234567))
	v.Add(figures.Count(999), figures.Millis(1500*time.Microsecond))
	var out bytes.Buffer
	if err := show(&v, &out, true); err != nil {
		t.Fatal(err)
	}
	want := "\n### T\n\n| a | b |\n| ---: | ---: |\n| 1 | 1,234,567 |\n| 999 | 1.50 ms |\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// Three real processes of each kind elect, carry out a load, and survive their
// leader's death.
func TestTrio(t *testing.T) {
	for kind, load := range map[string]string{"berth": loadRenew, "bare": loadTouch} {
		t.Run(kind, func(t *testing.T) {
			three, err := newTrio(kind, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := three.close(); err != nil {
					t.Error(err)
				}
			}()
			leader, err := three.level(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			a, err := three.run[leader].call(t.Context(), request{Op: opLoad, Load: &loadSpec{
				Workload: load, Callers: 3, Run: 50 * time.Millisecond,
			}})
			if err != nil || a.Load.Count == 0 || a.Load.Failed > 0 {
				t.Fatalf("the load came to %+v: %v", a.Load, err)
			}
			if took, err := failOver(t.Context(), three); err != nil || took <= 0 {
				t.Fatalf("failing over took %s: %v", took, err)
			}
			if _, err := three.level(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Without traces the aims are skipped, and it is said; what is near is so by its part.
func TestAimsAreSkipped(t *testing.T) {
	var said strings.Builder
	s := &setup{progress: &said, plays: plays{traces: t.TempDir() + "/none"}}
	if got, err := measureAims(t.Context(), s); got != nil || err != nil || !strings.Contains(said.String(), "names no folder of traces") {
		t.Errorf("%v, %v, %q", got, err, said.String())
	}
	s.traces = t.TempDir()
	got, err := measureAims(t.Context(), s)
	if err != nil || len(got.Rows) != len(aims()) || got.Rows[0][3] != "skipped: the folder lacks a trace" {
		t.Errorf("%+v, %v", got, err)
	}
	if !near(101, 100, 0.01) || near(101.1, 100, 0.01) || near(98.9, 100, 0.01) {
		t.Error("within 1 %")
	}
}
