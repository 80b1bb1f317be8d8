package apply_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// predictions returns what the totals count of them.
func predictions(c *statetest.Cluster) [6]uint64 {
	n := totals(c)
	return [6]uint64{n.Estimates, n.EstimatesNear, n.EstimatesOff, n.Histories, n.HistoriesNear, n.HistoriesOff}
}

// one runs a job of alice's from its submission to an end that its node reports.
func one(c *statetest.Cluster, n *statetest.Agent, e model.Exit, changes ...func(*command.Submit)) model.AttemptKey {
	a := c.Place(c.Submit(1, changes...))
	c.Start(a)
	c.Do(n.Report(exited(a.Rank(0), e)))
	n.Clean()
	return a
}

// Estimates and earlier runs are held against what attempts take that end by
// themselves; what was no prediction and what was stopped is not.
func TestPredictionsAreCounted(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	want := func(what string, made ...uint64) {
		t.Helper()
		if got := predictions(c); got != [6]uint64(made) {
			t.Errorf("%s: %v, want %v", what, got, made)
		}
	}
	ran := func(d time.Duration) model.Exit { return model.Exit{Ran: d} }
	for range 3 {
		one(c, n, ran(20*time.Minute))
	}
	want("nothing known", 0, 0, 0, 0, 0, 0)
	one(c, n, ran(1536*time.Second)) // the median to a factor of the square root of two
	want("as before", 0, 0, 0, 1, 1, 0)
	one(c, n, ran(4*1536*time.Second))
	want("four times as long", 0, 0, 0, 2, 1, 128)
	estimate := func(b *command.Submit) { b.Spec.Estimate = time.Hour }
	one(c, n, ran(2*time.Hour), estimate)
	want("twice the estimate", 1, 1, 64, 2, 1, 128)
	one(c, n, failing(450*time.Second), estimate)
	want("a failure", 2, 1, 256, 2, 1, 128)
	a := c.Place(c.Submit(1, estimate))
	c.Start(a)
	c.Do(cancel(a.Job))
	c.Do(n.Report(exited(a.Rank(0), model.Exit{Signal: 15, Delivered: model.ReasonCancel, Ran: time.Minute})))
	want("a cancel", 2, 1, 256, 2, 1, 128)
	limit := func(b *command.Submit) { b.Spec.TimeLimit = 10 * time.Minute }
	one(c, n, ran(time.Minute), limit)
	want("a limit is no prediction", 2, 1, 256, 2, 1, 128)
}

// What counts is what was expected when an attempt was placed, not when its job was
// submitted, and of a job that was suspended what it needed yet.
func TestPredictedAtPlacement(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	job := c.Submit(1, preemptible)
	if got := task(c, job).Expected; got != time.Hour {
		t.Errorf("when submitted: %s", got)
	}
	for range 3 {
		one(c, n, model.Exit{Ran: 3 * time.Hour})
	}
	a := c.Place(job)
	if got := task(c, job).Expected; got != 8192*time.Second*3/2 {
		t.Errorf("when placed: %s", got)
	}
	c.Start(a)
	c.Do(&command.Suspend{Attempts: []model.AttemptKey{a}, Decided: c.State.Index})
	c.Do(n.Report(exited(a.Rank(0), model.Exit{Signal: 15, Delivered: model.ReasonPreempt, Ran: 4096 * time.Second})))
	n.Clean()
	before := predictions(c)
	a = c.Place(job)
	c.Start(a)
	c.Do(n.Report(exited(a.Rank(0), model.Exit{Ran: 8192 * time.Second})))
	before[3], before[4] = before[3]+1, before[4]+1
	if got := predictions(c); got != before {
		t.Errorf("%v, want %v", got, before)
	}
}

// Quantiles lie where as many runs are as they say, grow with the percentage, and
// lie about the median that the scheduler goes by.
func TestQuantile(t *testing.T) {
	var s model.Sketch
	s.Log2[10] = 2
	if q, known := state.Quantile(&s, 50); known {
		t.Errorf("of two runs: %s", q)
	}
	s.Log2[10] = 4
	for percent, want := range map[uint32]time.Duration{0: 1024, 25: 1280, 50: 1536, 75: 1792, 100: 2048, 200: 2048} {
		if q, known := state.Quantile(&s, percent); q != want*time.Second || !known {
			t.Errorf("%d %%: %s", percent, q)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var s model.Sketch
		runs := rapid.SliceOfN(rapid.IntRange(0, len(s.Log2)-1), 3, 40).Draw(t, "runs")
		for _, i := range runs {
			s.Log2[i] += uint16(rapid.IntRange(1, 1000).Draw(t, "times"))
		}
		last := time.Duration(0)
		for percent := range uint32(101) {
			q, known := state.Quantile(&s, percent)
			if !known || q < last {
				t.Fatalf("%d %%: %s after %s", percent, q, last)
			}
			var all, below, upTo uint64
			for i, n := range s.Log2 {
				all += uint64(n)
				if at := time.Duration(1<<i) * time.Second; 2*at <= q {
					below += uint64(n)
				}
				if at := time.Duration(1<<i) * time.Second; at <= q {
					upTo += uint64(n)
				}
			}
			if 100*below > uint64(percent)*all || 100*upTo < uint64(percent)*all {
				t.Fatalf("%d %%: %s, with %d to %d of %d below", percent, q, below, upTo, all)
			}
			last = q
		}
		middle, _ := state.Quantile(&s, 50)
		if typical, _ := state.Typical(&s); middle < typical*2/3 || middle > typical*4/3 {
			t.Fatalf("the median is %s, and %s", middle, typical)
		}
	})
}

// Users' estimates are compared with the run times: their own estimates first, and all users' where too few
// are known.
func TestEstimatesAreTakenForWhatTheyWereWorth(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	by := func(user string, said time.Duration) func(*command.Submit) {
		return func(b *command.Submit) { b.Spec.User, b.Spec.Estimate = user, said }
	}
	told := func(user string, said time.Duration) time.Duration {
		left, known := state.Told(&c.State, &model.Spec{User: user, Estimate: said}, 0)
		if known == (left == model.Span{}) {
			t.Errorf("%s: %+v, known: %v", user, left, known)
		}
		return left.Usual.Round(time.Second)
	}
	for range 7 {
		one(c, n, model.Exit{Ran: 15 * time.Minute}, by("alice", time.Hour))
	}
	if got := told("alice", time.Hour); got != 0 {
		t.Errorf("after 7 runs: %s", got)
	}
	one(c, n, model.Exit{Ran: 15 * time.Minute}, by("alice", time.Hour))
	for range 16 {
		one(c, n, model.Exit{Ran: time.Hour}, by("bob", time.Hour))
	}
	want := map[string]time.Duration{"alice": 30 * time.Minute, "bob": 2 * time.Hour, "eve": 2 * time.Hour}
	for user, d := range want {
		if got := told(user, 2*time.Hour); got != d {
			t.Errorf("%s: %s, want %s", user, got, d)
		}
	}
	if got := told("alice", 0); got != 0 {
		t.Errorf("without an estimate: %s", got)
	}
}
