package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
)

// contender is a kind of peer with a workload.
type contender struct{ engine, workload string }

func (c contender) String() string {
	if c.engine == "bare" {
		return "bare raft"
	}
	return c.workload
}

// contenders are measured in turns, so that changes of the machine's load affect all of them.
var contenders = []contender{{"bare", loadTouch}, {"berth", loadRenew}, {"berth", loadSubmit}}

// point is the result of one contender at one number of callers, run by run.
type point struct {
	who     contender
	callers int
	runs    []run
}

type run struct {
	rate     float64 // commands a second
	p50, p99 time.Duration
	cpu      time.Duration // of all three processes, for a command
	elected  bool          // leadership changed during the run, which spoils it
}

// measureCommit measures throughput and latency. Each run has a cluster of its
// own, so that the jobs of one do not burden the next.
func measureCommit(ctx context.Context, s *setup) (*figures.Table, error) {
	var points []*point
	for _, callers := range s.callers {
		group := make([]*point, len(contenders))
		for i, who := range contenders {
			group[i] = &point{who: who, callers: callers}
		}
		for n := range s.runs {
			for _, p := range group {
				s.say("commit: %s, %d callers, run %d of %d", p.who, callers, n+1, s.runs)
				r, err := runCommit(ctx, s, p, n)
				if err != nil {
					return nil, fmt.Errorf("%s with %d callers: %w", p.who, callers, err)
				}
				p.runs = append(p.runs, r)
			}
		}
		points = append(points, group...)
	}
	return commitTable(s, points), nil
}

func runCommit(ctx context.Context, s *setup, p *point, n int) (r run, err error) {
	t, err := newTrio(p.who.engine, s.dir)
	if err != nil {
		return run{}, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	leader, err := t.level(ctx)
	if err != nil {
		return run{}, err
	}
	before, err := t.statuses(ctx)
	if err != nil {
		return run{}, err
	}
	spec := &loadSpec{Workload: p.who.workload, Callers: p.callers, Warm: s.warm, Run: s.each}
	if s.profiles != "" {
		spec.Profile = filepath.Join(s.profiles, fmt.Sprintf("%s-%s-%d-%d.pprof", p.who.engine, p.who.workload, p.callers, n+1))
	}
	a, err := t.run[leader].call(ctx, request{Op: opLoad, Load: spec})
	if err != nil {
		return run{}, err
	}
	if a.Load.Failed > 0 {
		s.say("  %d commands failed, the first: %s", a.Load.Failed, a.Load.Why)
	}
	after, err := t.statuses(ctx)
	if err != nil {
		return run{}, err
	}
	r = run{
		rate: float64(a.Load.Count) / s.each.Seconds(), p50: a.Load.P50, p99: a.Load.P99,
		elected: highest(after) != highest(before),
	}
	for i := range after {
		r.cpu += (after[i].CPU - before[i].CPU) / time.Duration(max(1, a.Load.All))
	}
	return r, nil
}

// middle returns the run whose rate is the median (the lower of two).
func (p *point) middle() run {
	sorted := slices.SortedFunc(slices.Values(p.runs), func(a, b run) int {
		switch {
		case a.rate < b.rate:
			return -1
		case a.rate > b.rate:
			return 1
		}
		return 0
	})
	return sorted[(len(sorted)-1)/2]
}

func (p *point) rates() (out []float64) {
	for _, r := range p.runs {
		out = append(out, r.rate)
	}
	return out
}

// elections counts the runs in which leadership changed.
func (p *point) elections() (n int) {
	for _, r := range p.runs {
		if r.elected {
			n++
		}
	}
	return n
}

func commitTable(s *setup, points []*point) *figures.Table {
	t := &figures.Table{
		Title: fmt.Sprintf("Commit: median of %d runs of %s", s.runs, s.each),
		Head:  []string{"callers", "commands", "a second", "lowest", "highest", "of bare raft", "p50", "p99", "CPU each", "elections"},
	}
	var bare float64
	for _, p := range points {
		rates := p.rates()
		rate := figures.Median(rates)
		if p.who.engine == "bare" {
			bare = rate
		}
		mid := p.middle()
		t.Add(fmt.Sprint(p.callers), p.who.String(), figures.Count(rate), figures.Count(slices.Min(rates)), figures.Count(slices.Max(rates)),
			fmt.Sprintf("%.2f", rate/max(bare, 1)), figures.Millis(mid.p50), figures.Millis(mid.p99), fmt.Sprintf("%.0f µs", float64(mid.cpu)/1e3),
			fmt.Sprint(p.elections()))
	}
	return t
}
