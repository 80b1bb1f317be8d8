package queue_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// TestOrder compares the order and every position with a plain sort.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.RandomCluster(t)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			schedtest.Step(t, c, nodes)
			c.Plan()
		}
		request := schedtest.Sorted(c)
		from := rapid.IntRange(0, len(request)).Draw(t, "from")
		position, i := 1, 0
		for e := range queue.Order(&c.State, c.Now, 0) {
			task, job := c.Asks(e.Task)
			if service, _ := c.State.Waiting.Get(e.Task); service != e.Service {
				t.Fatalf("entry %d is %+v, want service %q", i, e, service)
			}
			if i >= len(request) || e.Task != request[i] || e.Held != (task.Held || job.Waits > 0) || e.Class != task.Class ||
				e.Position != position ||
				(e.NotBefore > 0) != (task.NotBefore > c.Now) {
				t.Fatalf("entry %d is %+v; want position %d of %v, task %+v", i, e, position, request, task)
			}
			if got, exact := queue.Position(&c.State, c.Now, e.Task); got != position || !exact {
				t.Fatalf("the position of %s is %d (exact: %t), want %d", e.Task, got, exact, position)
			}
			if !e.Held {
				position++
			}
			i++
		}
		var rest []model.TaskKey
		for e := range queue.Order(&c.State, c.Now, from) {
			rest = append(rest, e.Task)
		}
		if i != len(request) || !slices.Equal(rest, request[from:]) {
			t.Fatalf("from %d on: %v of %v", from, rest, request)
		}
	})
}

func TestAPositionBeyondAThousandIsEstimated(t *testing.T) {
	for _, policy := range model.Policies() {
		c := schedtest.New(t, policy)
		for i := range 4000 {
			c.Submit(schedtest.Spec(fmt.Sprint("u", i%3), 1, 0, schedtest.Class(model.Class(1+i%4))), 1, 0)
		}
		place := 0
		for e := range queue.Order(&c.State, c.Now, 0) {
			if place++; place%333 > 0 && place < 3990 {
				continue
			}
			got, exact := queue.Position(&c.State, c.Now, e.Task)
			if exact != (place <= 1000) || exact && got != place || got < place*9/10 || got > place*11/10 {
				t.Errorf("%s: the task at %d is said to be at %d (exact: %t)", policy, place, got, exact)
			}
		}
	}
}

// Held tasks stand where they would be tried.
func TestHeldTasksKeepTheirPlace(t *testing.T) {
	c := schedtest.New(t, "priority")
	held := func(s *model.Spec) { s.Held = true }
	for _, k := range []model.Class{model.ClassLow, model.ClassNormal, model.ClassHigh} {
		c.Submit(schedtest.Spec("amy", 1, 0, schedtest.Class(k), held), 1, 0)
		c.Submit(schedtest.Spec("amy", 1, 0, schedtest.Class(k)), 1, 0)
	}
	var got []model.TaskKey
	for e := range queue.Order(&c.State, c.Now, 0) {
		got = append(got, e.Task)
	}
	if request := []model.JobID{5, 6, 3, 4, 1, 2}; !slices.Equal(schedtest.Jobs(got), request) {
		t.Errorf("the order is %v, want %v", schedtest.Jobs(got), request)
	}
}

func TestWhatDoesNotWaitHasNoPosition(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	if got, exact := queue.Position(&c.State, c.Now, model.TaskKey{Job: 7}); got != 0 || !exact {
		t.Errorf("an unknown task is at %d (exact: %t)", got, exact)
	}
}

func TestPolicies(t *testing.T) {
	for _, name := range model.Policies() {
		if got := queue.PolicyNamed(name).Name; got != name || !model.KnownPolicy(name) {
			t.Errorf("%q is carried out as %q", name, got)
		}
	}
	if model.KnownPolicy("") || model.KnownPolicy("of-the-future") {
		t.Error("policies that there are not are known")
	}
}

// A change of policy takes effect with the next plan.
func TestThePolicyCanBeChanged(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 1, "H200")
	c.Submit(schedtest.Spec("amy", 1, 0, schedtest.Class(model.ClassLow)), 1, 0)
	c.Submit(schedtest.Spec("bob", 1, 0, schedtest.Class(model.ClassCritical)), 1, 0)
	if got := c.Drawn(); !slices.Equal(got, []string{"1: n1[0]"}) {
		t.Errorf("fcfs places %v", got)
	}
	for name, first := range map[string]string{"priority": "2: n1[0]", "of-the-future": "1: n1[0]"} {
		c.Must(&command.SetPolicy{Policy: name})
		if got := c.Drawn(); !slices.Equal(got, []string{first}) {
			t.Errorf("%s places %v", name, got)
		}
	}
}
