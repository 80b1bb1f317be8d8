package apply_test

import (
	"testing"

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
