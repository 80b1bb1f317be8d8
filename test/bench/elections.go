package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
)

// errElected says that peers elected although nothing had failed.
var errElected = errors.New("peers elected a leader although none had failed")

// measureElections watches three idle peers while every core is kept busy by other
// processes. Nothing fails, so no term may begin.
func measureElections(ctx context.Context, s *setup) (_ *figures.Table, err error) {
	t, err := newTrio("berth", s.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if _, err := t.level(ctx); err != nil {
		return nil, err
	}
	var busy []*member
	defer func() {
		for _, m := range busy {
			m.kill()
		}
	}()
	for range runtime.NumCPU() {
		m, err := spawn("-engine", spinner)
		if err != nil {
			return nil, err
		}
		busy = append(busy, m)
	}
	first, err := t.statuses(ctx)
	if err != nil {
		return nil, err
	}
	w := watch{term: highest(first), leader: leaderOf(first)}
	s.say("elections: %s from term %d, with %d processes that keep the cores busy", s.watch, w.term, runtime.NumCPU())
	if err := w.until(ctx, t, s.watch); err != nil {
		return nil, err
	}
	out := &figures.Table{
		Title: "Elections without need: every core kept busy by other processes at the same priority",
		Head:  []string{"time", "busy processes", "new terms", "changes of leader"},
	}
	out.Add(s.watch.String(), fmt.Sprint(runtime.NumCPU()), fmt.Sprint(w.terms), fmt.Sprint(w.changes))
	if w.terms > 0 {
		return out, fmt.Errorf("%w: %d new terms in %s", errElected, w.terms, s.watch)
	}
	return out, nil
}

// watch counts new terms and changes of leader.
type watch struct {
	term    uint64
	leader  int // -1: none
	terms   uint64
	changes int
}

func (w *watch) until(ctx context.Context, t *trio, d time.Duration) error {
	end := time.After(d)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			now, err := t.statuses(ctx)
			if err != nil {
				return err
			}
			w.see(now)
		case <-end:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (w *watch) see(now [3]status) {
	if term := highest(now); term > w.term {
		w.terms += term - w.term
		w.term = term
	}
	if leader := leaderOf(now); leader >= 0 && leader != w.leader {
		w.changes++
		w.leader = leader
	}
}

func highest(all [3]status) (term uint64) {
	for _, s := range all {
		term = max(term, s.Term)
	}
	return term
}

// leaderOf is the leader of the highest term, or -1.
func leaderOf(all [3]status) int {
	term := highest(all)
	for i, s := range all {
		if s.Leads && s.Term == term {
			return i
		}
	}
	return -1
}

// spin keeps a core busy until the parent hangs up.
func spin() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends when the parent does
		os.Exit(0)
	}()
	for x := uint64(1); ; x ^= x << 13 {
		x ^= x >> 7
	}
}
