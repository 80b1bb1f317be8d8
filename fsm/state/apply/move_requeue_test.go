package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// What is sent back to be held comes back held: no moment exists in which the task could be placed.
func TestRequeuedTasksAreHeld(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	job := c.Submit(1, array(3, 0))
	a, b := runs(c, job, 0), runs(c, job, 1)
	c.Do(&command.Requeue{Job: job, Task: model.AllTasks, Tasks: "0,2", Hold: true})
	if lined(c, job, 2) || !taskOf(c, job, 2).Held || taskOf(c, job, 0).Held {
		t.Fatal("the task that waits is not held, or that which runs is held already")
	}
	c.Stopped(a)
	n.Clean()
	if task := taskOf(c, job, 0); task.State != model.TaskQueued || !task.Held || lined(c, job, 0) {
		t.Fatalf("the task is %s, held: %v", task.State, task.Held)
	}
	c.Do(&command.Release{Job: job, Task: model.AllTasks, Tasks: "0"})
	a = runs(c, job, 0)
	c.Do(&command.Requeue{Job: job, Task: model.AllTasks, Tasks: "0"})
	c.Stopped(a)
	if taskOf(c, job, 0).Held {
		t.Error("a task is held after another attempt")
	}
	c.Do(&command.Requeue{Job: job, Task: model.AllTasks, Tasks: "1"})
	c.Do(&command.Requeue{Job: job, Task: model.AllTasks, Tasks: "1", Hold: true})
	c.Stopped(b)
	if !taskOf(c, job, 1).Held {
		t.Error("a task that was being sent back already is not held")
	}
	if r := c.Do(&command.Requeue{Job: job, Task: model.AllTasks, Tasks: "1-2", Hold: true}); r.Number != 2 || lined(c, job, 1) {
		t.Error("tasks that are held already are refused, or not held any more")
	}
}

// A job that is being stopped for good is not sent back, held, extended or given another priority: it would change nothing.
func TestWhatEndsIsNotSentBack(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]func(model.JobID) command.Body{
		"requeue": func(id model.JobID) command.Body { return &command.Requeue{Job: id, Task: model.AllTasks} },
		"held":    func(id model.JobID) command.Body { return &command.Requeue{Job: id, Task: model.AllTasks, Hold: true} },
		"extend":  func(id model.JobID) command.Body { return &command.Extend{Job: id, By: time.Hour} },
		"priority": func(id model.JobID) command.Body {
			return &command.SetPriority{Job: id, Class: model.ClassHigh, Priority: 3}
		},
		"hold":    func(id model.JobID) command.Body { return &command.Hold{Job: id, Task: model.AllTasks} },
		"release": func(id model.JobID) command.Body { return &command.Release{Job: id, Task: model.AllTasks} },
	} {
		l := running(t, 4, func(b *command.Submit) { b.Spec.TimeLimit = time.Hour })
		l.Do(&command.Cancel{Job: l.job, Task: model.AllTasks})
		before := task(l.Cluster, l.job)
		if r := l.Try(b(l.job)); r.OK() || r.Detail == "" {
			t.Errorf("%s of a job that is being canceled: %s", name, r.Code)
		}
		if after := task(l.Cluster, l.job); after != before {
			t.Errorf("%s: the task goes from %+v to %+v", name, before, after)
		}
		l.Stopped(l.a)
		l.want(t, model.TaskCanceled, model.ReasonCancel)
	}
	l := running(t, 4, array(2, 0))
	l.Do(&command.Cancel{Job: l.job, Task: 0})
	if r := l.Try(&command.Requeue{Job: l.job, Task: model.AllTasks, Hold: true}); !r.OK() || r.Number != 1 {
		t.Errorf("of two tasks of which one is being canceled, %d are sent back (%s)", r.Number, r.Detail)
	}
}
