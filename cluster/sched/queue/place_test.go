package queue_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// waiting returns a full cluster with jobs of several users, sizes, classes and run times that wait, under a policy.
func waiting(t *testing.T, policy string) *statetest.Cluster {
	t.Helper()
	c := statetest.New(t)
	c.Node("n1", 4)
	c.Do(&command.SetPolicy{Policy: policy})
	c.Start(c.Place(c.Submit(4)))
	for i := range 12 {
		c.Submit(uint32(1+i%4), func(b *command.Submit) {
			b.Spec.User, b.Spec.Class = []string{"ann", "bob", "eve"}[i%3], model.Class(1+i%4)
			b.Spec.Estimate = time.Duration(1+i*i%7) * time.Hour
		})
		c.Wait(time.Duration(1+i%5) * time.Hour)
	}
	return c
}

// order returns the jobs that wait, in order; it fails the test if their positions are others.
func order(c *statetest.Cluster, t *testing.T, now model.Time) (out []model.JobID) {
	t.Helper()
	for e := range queue.Order(&c.State, now, 0) {
		out = append(out, e.Task.Job)
		if e.Held {
			continue
		}
		if at, exact := queue.Position(&c.State, now, e.Task); at != e.Position || !exact {
			t.Errorf("job %s is at %d in the order and at %d by itself", e.Task.Job, e.Position, at)
		}
	}
	return out
}

// Under every policy a job that is moved goes directly ahead of the other one, now and later, and keeps the place when
// the other one has left; the others keep their order.
func TestAMovedJobGoesAhead(t *testing.T) {
	t.Parallel()
	for _, policy := range model.Policies() {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			for _, late := range []time.Duration{0, 6 * time.Hour, 20 * 24 * time.Hour} {
				c := waiting(t, policy)
				now := func() model.Time { return c.State.Settings().Clock.Add(late) }
				const veryLate = 20 * 24 * time.Hour // some are at the front, for which the GPUs of jobs count
				before := order(c, t, now())
				for _, v := range [][2]int{{11, 0}, {0, 6}, {9, 3}, {4, 5}, {2, 11}} {
					job, other := before[v[0]], before[v[1]]
					c.Do(&command.SetPriority{Job: job, Before: other})
					want := slices.DeleteFunc(slices.Clone(before), func(id model.JobID) bool { return id == job })
					want = slices.Insert(want, slices.Index(want, other), job)
					got := order(c, t, now())
					if !slices.Equal(got, want) && late < veryLate || slices.Index(got, job) > slices.Index(got, other) {
						t.Fatalf("after %s, job %s ahead of %s: %v, want %v", late, job, other, got, want)
					}
					before = got
				}
			}
		})
	}
}

// A moved job stays where it is when the other one leaves, is moved itself, or changes its class.
func TestAMovedJobKeepsItsPlace(t *testing.T) {
	t.Parallel()
	for _, policy := range model.Policies() {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			c := waiting(t, policy)
			now := func() model.Time { return c.State.Settings().Clock }
			before := order(c, t, now())
			job, other := before[10], before[4]
			c.Do(&command.SetPriority{Job: job, Before: other})
			moved := order(c, t, now())
			c.Do(&command.Cancel{Job: other, Task: model.AllTasks})
			want := slices.DeleteFunc(slices.Clone(moved), func(id model.JobID) bool { return id == other })
			if got := order(c, t, now()); !slices.Equal(got, want) {
				t.Errorf("after the other job has left: %v, want %v", got, want)
			}
			second := want[8]
			c.Do(&command.SetPriority{Job: second, Before: job})
			if got := order(c, t, now()); slices.Index(got, second)+1 != slices.Index(got, job) {
				t.Errorf("job %s is not ahead of the moved job %s: %v", second, job, got)
			}
			spec, _ := c.State.Jobs.Get(job)
			c.Do(&command.SetPriority{Job: job, Class: spec.Spec.Class})
			c.Do(&command.SetPriority{Job: second, Class: model.ClassNormal})
			for _, id := range []model.JobID{job, second} {
				if j, _ := c.State.Jobs.Get(id); j.Place != (model.Place{}) {
					t.Errorf("a class does not end the place of job %s: %+v", id, j.Place)
				}
			}
		})
	}
}

// Several jobs that are moved ahead of one stand in the order of the moves, and one goes between two others.
func TestManyAreMovedAheadOfOne(t *testing.T) {
	t.Parallel()
	c := waiting(t, "fcfs")
	for _, id := range []model.JobID{10, 11, 12} {
		c.Do(&command.SetPriority{Job: id, Before: 3})
	}
	c.Do(&command.SetPriority{Job: 13, Before: 11})
	c.Do(&command.SetPriority{Job: 12, Before: 10})
	c.Do(&command.SetPriority{Job: 12, Before: 10}) // it is there already
	c.Do(&command.SetPriority{Job: 3, Before: 13})  // the job whose place they have
	if got := fmt.Sprint(order(c, t, c.State.Settings().Clock)); got != "[2 12 10 3 13 11 4 5 6 7 8 9]" {
		t.Error(got)
	}
}
