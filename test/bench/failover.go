package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
)

// failoverLimit is how long a trial waits for the next commit.
const failoverLimit = 30 * time.Second

// measureFailover kills the leader again and again and measures how long it takes
// until a survivor has committed a command. The survivors try all the time.
func measureFailover(ctx context.Context, s *setup) (_ *figures.Table, err error) {
	t, err := newTrio("berth", s.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	var times []time.Duration
	for n := range s.trials {
		took, err := failOver(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("trial %d: %w", n+1, err)
		}
		s.say("failover: trial %d of %d, %s", n+1, s.trials, figures.Millis(took))
		times = append(times, took)
	}
	slices.Sort(times)
	out := &figures.Table{
		Title: "Failover: kill -9 of the leader to the first commit of a survivor",
		Head:  []string{"trials", "least", "p50", "p99", "most"},
	}
	if len(times) > 0 {
		out.Add(fmt.Sprint(len(times)), figures.At(times, 0), figures.At(times, 50), figures.At(times, 99), figures.At(times, 100))
	}
	return out, nil
}

// failOver is one trial; afterwards the killed peer runs again.
func failOver(ctx context.Context, t *trio) (time.Duration, error) {
	leader, err := t.level(ctx)
	if err != nil {
		return 0, err
	}
	// Heartbeats have a rhythm; the kill must not keep step with it.
	select {
	case <-time.After(time.Duration(100+rand.IntN(400)) * time.Millisecond):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	var probes []<-chan reply
	for i, m := range t.run {
		if i != leader {
			p, err := m.send(request{Op: opProbe})
			if err != nil {
				return 0, err
			}
			probes = append(probes, p)
		}
	}
	if _, err := t.statuses(ctx); err != nil { // when this is answered, the probes have begun
		return 0, err
	}
	at := monotonic()
	t.run[leader].kill()
	took, err := firstOf(ctx, at, probes)
	if err != nil {
		return 0, err
	}
	for i, m := range t.run {
		if i != leader {
			if _, err := m.call(ctx, request{Op: opCalm}); err != nil {
				return 0, err
			}
		}
	}
	return took, t.start(leader)
}

// firstOf waits for the first of two probes to succeed.
func firstOf(ctx context.Context, since int64, probes []<-chan reply) (time.Duration, error) {
	var a reply
	select {
	case a = <-probes[0]:
	case a = <-probes[1]:
	case <-time.After(failoverLimit):
		return 0, fmt.Errorf("no survivor committed anything in %s", failoverLimit)
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if a.Error != "" {
		return 0, errors.New(a.Error)
	}
	return time.Duration(a.At - since), nil
}
