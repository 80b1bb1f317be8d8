package sched_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// TestOrder compares the order and every position with a plain sort.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := randomCluster(t)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			step(t, c, nodes)
			c.plan()
		}
		request := sorted(c)
		from := rapid.IntRange(0, len(request)).Draw(t, "from")
		position, i := 1, 0
		for e := range queue.Order(&c.s, c.now, 0) {
			task, job := c.asks(e.Task)
			if service, _ := c.s.Waiting.Get(e.Task); service != e.Service {
				t.Fatalf("entry %d is %+v, want service %q", i, e, service)
			}
			if i >= len(request) || e.Task != request[i] || e.Held != (task.Held || job.Waits > 0) || e.Class != task.Class || e.Position != position ||
				(e.NotBefore > 0) != (task.NotBefore > c.now) {
				t.Fatalf("entry %d is %+v; want position %d of %v, task %+v", i, e, position, request, task)
			}
			if got, exact := queue.Position(&c.s, c.now, e.Task); got != position || !exact {
				t.Fatalf("the position of %s is %d (exact: %t), want %d", e.Task, got, exact, position)
			}
			if !e.Held {
				position++
			}
			i++
		}
		var rest []model.TaskKey
		for e := range queue.Order(&c.s, c.now, from) {
			rest = append(rest, e.Task)
		}
		if i != len(request) || !slices.Equal(rest, request[from:]) {
			t.Fatalf("from %d on: %v of %v", from, rest, request)
		}
	})
}

func TestAPositionBeyondAThousandIsEstimated(t *testing.T) {
	for _, policy := range queue.Policies() {
		c := newCluster(t, policy)
		for i := range 4000 {
			c.submit(spec(fmt.Sprint("u", i%3), 1, 0, class(model.Class(1+i%4))), 1, 0)
		}
		place := 0
		for e := range queue.Order(&c.s, c.now, 0) {
			if place++; place%333 > 0 && place < 3990 {
				continue
			}
			got, exact := queue.Position(&c.s, c.now, e.Task)
			if exact != (place <= 1000) || exact && got != place || got < place*9/10 || got > place*11/10 {
				t.Errorf("%s: the task at %d is said to be at %d (exact: %t)", policy, place, got, exact)
			}
		}
	}
}

// Held tasks stand where they would be tried.
func TestHeldTasksKeepTheirPlace(t *testing.T) {
	c := newCluster(t, "priority")
	held := func(s *model.Spec) { s.Held = true }
	for _, k := range []model.Class{model.ClassLow, model.ClassNormal, model.ClassHigh} {
		c.submit(spec("amy", 1, 0, class(k), held), 1, 0)
		c.submit(spec("amy", 1, 0, class(k)), 1, 0)
	}
	var got []model.TaskKey
	for e := range queue.Order(&c.s, c.now, 0) {
		got = append(got, e.Task)
	}
	if request := []model.JobID{5, 6, 3, 4, 1, 2}; !slices.Equal(jobs(got), request) {
		t.Errorf("the order is %v, want %v", jobs(got), request)
	}
}

func TestWhatDoesNotWaitHasNoPosition(t *testing.T) {
	c := newCluster(t, "fcfs")
	if got, exact := queue.Position(&c.s, c.now, model.TaskKey{Job: 7}); got != 0 || !exact {
		t.Errorf("an unknown task is at %d (exact: %t)", got, exact)
	}
}

func TestPolicies(t *testing.T) {
	request := []string{"fair_share", "priority", "fcfs", "sjf", "gang"}
	if got := queue.Policies(); !slices.Equal(got, request) {
		t.Errorf("policies are %v", got)
	}
	for _, name := range request {
		if !queue.Known(name) {
			t.Errorf("%q is not known", name)
		}
	}
	if queue.Known("") || queue.Known("of-the-future") {
		t.Error("policies that there are not are known")
	}
}

// A change of policy takes effect with the next plan.
func TestThePolicyCanBeChanged(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 1, "H200")
	c.submit(spec("amy", 1, 0, class(model.ClassLow)), 1, 0)
	c.submit(spec("bob", 1, 0, class(model.ClassCritical)), 1, 0)
	if got := c.drawn(); !slices.Equal(got, []string{"1: n1[0]"}) {
		t.Errorf("fcfs places %v", got)
	}
	for name, first := range map[string]string{"priority": "2: n1[0]", "of-the-future": "1: n1[0]"} {
		c.must(&command.SetPolicy{Policy: name})
		if got := c.drawn(); !slices.Equal(got, []string{first}) {
			t.Errorf("%s places %v", name, got)
		}
	}
}
