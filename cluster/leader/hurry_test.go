package leader

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// slow returns a cluster with a job of one GPU whose attempt has been placed, but does not start, and a
// booking; the job would return its GPU that long before the booking's start if it had started at once.
func slow(t *testing.T, spare time.Duration, book func(b *model.Booking)) (c *statetest.Cluster, a model.AttemptKey) {
	t.Helper()
	c = statetest.New(t)
	c.Node("n1", 1)
	c.Node("n2", 1)
	job := c.Submit(1, func(b *command.Submit) { b.Spec.TimeLimit = 10 * time.Minute })
	return bookAfter(c, job, spare, book)
}

// bookAfter books for the time after the certain end of a job that starts at once, and places the job.
func bookAfter(c *statetest.Cluster, job model.JobID, spare time.Duration, book func(b *model.Booking)) (*statetest.Cluster,
	model.AttemptKey,
) {
	row, _ := c.State.Jobs.Get(job)
	placed := model.Attempt{Placed: c.Now, Frozen: row.Spec.Freeze()}
	start := placed.CertainEndIf(c.Now).Add(spare)
	b := model.Booking{
		Kind: model.BookGPUs, Owner: model.ScopeKey{Kind: model.ScopeUser, Name: "booker"}, GPUs: 1, Start: start, End: start.Add(time.Hour),
	}
	book(&b)
	c.Do(&command.SetBookingCaps{Caps: model.BookingCaps{Percent: 100}.OrDefault()})
	c.Do(&command.Book{Booking: b})
	return c, c.Place(job)
}

// An attempt that is placed because it certainly ends before a reservation or a maintenance is ended at the
// moment from which a start would be too late: not sooner, and not at all if it blocks no other job.
func TestWhoStartsTooLateForABookingIsEnded(t *testing.T) {
	both := func(b *model.Booking) { b.GPUs = 2 }
	maintained := func(on string) func(*model.Booking) {
		return func(b *model.Booking) {
			b.Kind, b.Owner, b.GPUs, b.Nodes = model.BookMaintenance, model.ScopeKey{}, 0, on
		}
	}
	for name, v := range map[string]struct {
		spare time.Duration // more than it takes at most, if it starts at once
		book  func(*model.Booking)
		ends  bool
	}{
		"all GPUs":                 {time.Minute, both, true},
		"all GPUs, later":          {5 * time.Minute, both, true},
		"one of the two":           {time.Minute, func(*model.Booking) {}, false},
		"a maintenance":            {time.Minute, maintained("n1"), true},
		"a maintenance of another": {time.Minute, maintained("n2"), false},
	} {
		t.Run(name, func(t *testing.T) {
			c, a := slow(t, v.spare, v.book)
			begun := c.Now
			look := func() ([]command.Body, time.Duration) {
				return hurry(&c.State, c.Now, slices.Values([]model.AttemptKey{a}))
			}
			out, next := look()
			if out != nil || next != v.spare+time.Millisecond {
				t.Fatalf("at once: %v, again in %s", out, next)
			}
			c.Wait(v.spare)
			if out, next = look(); out != nil || next != time.Millisecond {
				t.Fatalf("in the last moment: %v, again in %s", out, next)
			}
			c.Wait(next)
			if out, next = look(); len(out) > 0 != v.ends || next != liveness.Never {
				t.Fatalf("after %s: %v, again in %s", c.Now.Sub(begun), out, next)
			}
			if !v.ends {
				return
			}
			c.Do(out[0])
			if row, _ := c.State.Attempts.Get(a); row.Stop != model.ReasonStartDeadline {
				t.Errorf("it is stopped for %q", row.Stop)
			}
			if out, _ = look(); out != nil {
				t.Errorf("and again: %v", out)
			}
		})
	}
}

// An attempt that has started in time is left alone, and so is one without a known end: it was there before
// the reservation.
func TestWhoHasStartedIsLeftAlone(t *testing.T) {
	c, a := slow(t, time.Minute, func(b *model.Booking) { b.GPUs = 2 })
	c.Start(a)
	c.Wait(2 * time.Minute)
	if out, next := hurry(&c.State, c.Now, slices.Values([]model.AttemptKey{a})); out != nil || next != liveness.Never {
		t.Errorf("one that runs: %v, again in %s", out, next)
	}

	c = statetest.New(t)
	c.Node("n1", 1)
	a = c.Place(c.Submit(1))
	start := c.Now.Add(time.Minute)
	c.Do(&command.Book{Booking: model.Booking{Kind: model.BookMaintenance, Nodes: "n1", Start: start, End: start.Add(time.Hour)}})
	c.Wait(50 * time.Second)
	if out, next := hurry(&c.State, c.Now, slices.Values([]model.AttemptKey{a})); out != nil || next != liveness.Never {
		t.Errorf("one without a time limit: %v, again in %s", out, next)
	}
}

// A job without GPUs that starts late is ended before it could run into a maintenance of its node.
func TestHurryWithoutGPUs(t *testing.T) {
	for on, ends := range map[string]bool{"n1": true, "n2": false} {
		c := statetest.New(t)
		c.Node("n1", 0)
		c.Node("n2", 0)
		job := c.Submit(0, func(b *command.Submit) {
			b.Spec.GPUs, b.Spec.Preemptible, b.Spec.CPUs, b.Spec.MemoryMB, b.Spec.TimeLimit = 0, false, 1, 1000, 10*time.Minute
			b.Spec.Nodelist = "n1"
		})
		c, a := bookAfter(c, job, time.Minute, func(b *model.Booking) {
			b.Kind, b.Owner, b.GPUs, b.Nodes = model.BookMaintenance, model.ScopeKey{}, 0, on
		})
		look := func() []command.Body {
			out, _ := hurry(&c.State, c.Now, slices.Values([]model.AttemptKey{a}))
			return out
		}
		if c.Wait(time.Minute); look() != nil {
			t.Errorf("a maintenance of %s: it is ended too early", on)
		}
		if c.Wait(time.Millisecond); len(look()) > 0 != ends {
			t.Errorf("a maintenance of %s: ended is %v, want %v", on, !ends, ends)
		}
	}
}
