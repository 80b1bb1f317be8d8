package sched_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// stream is users that keep submitting jobs of one GPU.
type stream struct {
	users    int
	backlog  int           // jobs of each user that wait
	runs     time.Duration // how long each job runs
	limit    time.Duration // its time limit; 0: none
	estimate time.Duration // as its user gives it; 0: none
	spread   time.Duration // by which the jobs at the beginning end one after the other
}

// play runs streams for a while, then submits a gang, and returns how long the gang waits until it starts, and what was
// expected of that at most after it was submitted.
func (v stream) play(t *testing.T, policy string, nodes int, gang model.Spec) (waited, expected time.Duration) {
	t.Helper()
	c := schedtest.New(t, policy)
	c.Must(&command.SetTuning{Tuning: model.DefaultTuning()})
	for i := range nodes {
		c.Node(fmt.Sprintf("n%d", i+1), 8, "H200")
	}
	ends := map[model.TaskKey]model.Time{}
	var job model.TaskKey
	var submitted model.Time
	started := false
	step := func() {
		for key, at := range ends {
			if at <= c.Now {
				c.End(key, 0)
				delete(ends, key)
			}
		}
		for i := range v.users {
			user := fmt.Sprintf("user%d", i)
			use, _ := c.State.Usage.Get(model.ScopeKey{Kind: model.ScopeUser, Name: user})
			for range max(v.backlog-int(use.Queued), 0) {
				c.Submit(schedtest.Spec(user, 1, 0, func(s *model.Spec) { s.TimeLimit, s.Estimate = v.limit, v.estimate }), 1, 0)
			}
		}
		for _, key := range c.Plan() {
			c.Begin(key)
			ends[key] = c.Now.Add(v.runs + time.Duration(len(ends))*v.spread%max(v.runs/2, 1))
			started = started || key == job
		}
		c.Now = c.Now.Add(time.Second)
	}
	for range 60 {
		step()
	}
	job, submitted = model.TaskKey{Job: c.Submit(gang, 1, 0)}, c.Now
	for !started && c.Now.Sub(submitted) < 3*time.Hour {
		step()
		if expected > 0 || started {
			continue
		}
		f := forecast.Foresee(&c.State, c.Now)
		for i := range f.Waiting {
			if e := &f.Waiting[i]; e.Task == job && e.Start.Known {
				expected = e.Start.Latest.Sub(submitted)
			}
		}
	}
	return c.Now.Sub(submitted), expected
}

// A large job at the head of the line starts once the jobs have ended that ran as it came, and those that were let pass
// because they end before: a stream of short jobs does not move that instant on, whatever is expected of them. Several rules see to
// that, and each by itself is enough for most streams: tests of packages queue, split and reserve show each.
func TestAStreamLetsAGangStart(t *testing.T) {
	t.Parallel()
	const run = 8 * time.Second
	for name, v := range map[string]struct {
		stream
		nodes, gpus, on int
		within          time.Duration
	}{
		"with a time limit": {stream{users: 1, backlog: 24, runs: run, limit: 20 * time.Second, spread: 700 * time.Millisecond}, 2, 16, 2, 45 * time.Second},
		"without":           {stream{users: 1, backlog: 24, runs: run, spread: 700 * time.Millisecond}, 2, 16, 2, 45 * time.Second},
		"a node of three": {
			stream{users: 1, backlog: 30, runs: run, limit: 20 * time.Second, spread: 700 * time.Millisecond},
			3, 8, 1,
			45 * time.Second,
		},
		"two nodes of four": {stream{users: 2, backlog: 20, runs: run, spread: 300 * time.Millisecond}, 4, 16, 2, 45 * time.Second},
		"several users": {
			stream{users: 4, backlog: 12, runs: run, limit: 20 * time.Second, spread: 700 * time.Millisecond},
			2, 16, 2,
			45 * time.Second,
		},
		"limits that are too long":  {stream{users: 1, backlog: 24, runs: run, limit: 4 * time.Minute, spread: 700 * time.Millisecond}, 2, 16, 2, 5 * time.Minute},
		"estimates that are wrong":  {stream{users: 1, backlog: 24, runs: 40 * time.Second, estimate: 5 * time.Second, spread: 3 * time.Second}, 2, 16, 2, 2 * time.Minute},
		"minutes, unknown at first": {stream{users: 1, backlog: 24, runs: 4 * time.Minute, spread: 11 * time.Second}, 2, 16, 2, 70 * time.Minute},
	} {
		for _, policy := range []string{model.DefaultPolicy, "fcfs"} {
			if testing.Short() && policy != model.DefaultPolicy {
				continue
			}
			gang := schedtest.Spec("gang", uint32(v.gpus), uint32(v.on), func(s *model.Spec) { s.TimeLimit = 5 * time.Minute })
			waited, expected := v.play(t, policy, v.nodes, gang)
			t.Logf("%s, %s: waited %s, expected %s", name, policy, waited, expected)
			if policy == model.DefaultPolicy && waited > v.within || v.limit > 0 && waited > expected {
				t.Errorf("%s, %s: the gang waits for %s, expected was %s", name, policy, waited, expected)
			}
		}
	}
}
