package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// conditions adds dependencies to a submission.
func conditions(list ...dependency.After) func(*command.Submit) {
	return func(b *command.Submit) { b.After = list }
}

func taskOf(c *statetest.Cluster, job model.JobID, n uint32) model.Task {
	task, _ := c.State.Tasks.Get(model.TaskKey{Job: job, Task: n})
	return task
}

// lined reports whether a task is in the queue.
func lined(c *statetest.Cluster, job model.JobID, n uint32) bool {
	for k := range c.State.Queue.All() {
		if k.Task == (model.TaskKey{Job: job, Task: n}) {
			return true
		}
	}
	return false
}

// runs places a task and starts it.
func runs(c *statetest.Cluster, job model.JobID, n uint32) model.AttemptKey {
	a := c.PlaceTask(model.TaskKey{Job: job, Task: n})
	c.Start(a)
	return a
}

func dependencyOf(c *statetest.Cluster, job model.JobID) dependency.Row {
	return c.State.DependenciesOf(job)[0]
}

// A job that waits for the begin of another starts when all tasks of that one have run or ended, and when the delay has passed.
func TestAJobStartsAfterABegin(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 16)
	first := c.Submit(1, array(2, 0))
	soon := c.Submit(1, after(dependency.AfterBegin, first))
	late := c.Submit(1, conditions(dependency.After{Job: first, Kind: dependency.AfterBegin, Delay: 10 * time.Minute}))
	a := runs(c, first, 0)
	if c.State.Settling.Has(first) || c.State.Jobs.Len() != 3 {
		t.Fatal("one of two tasks has begun, and the begin is to be passed on")
	}
	c.Do(&command.Cancel{Job: first, Task: 1})
	if !c.State.Settling.Has(first) {
		t.Fatal("all tasks have begun or ended, and that is not to be passed on")
	}
	began := c.Now
	c.Do(settle(soon, late))
	if !inQueue(c, soon) || inQueue(c, late) || c.State.Settling.Len() != 0 {
		t.Fatal("the job without a delay is not in the queue, or that with one is")
	}
	if d := dependencyOf(c, late); d.State != dependency.Waits || d.Due < began.Add(9*time.Minute) {
		t.Errorf("the delay is %+v", d)
	}
	c.Exit(a, 0)
	c.Do(settle(late))
	if inQueue(c, late) {
		t.Fatal("the end of a job shortened the delay after its begin")
	}
	again := c.Submit(1, conditions(dependency.After{Job: first, Kind: dependency.AfterBegin, Delay: 10 * time.Minute}))
	if d := dependencyOf(c, again); d.Due != dependencyOf(c, late).Due {
		t.Errorf("a later job waits until %d, the earlier one until %d", d.Due, dependencyOf(c, late).Due)
	}
	c.Wait(11 * time.Minute)
	c.Do(settle(late, again))
	if !inQueue(c, late) || !inQueue(c, again) || c.State.Delayed.Len() != 0 {
		t.Fatal("the delay has passed, and the job is not in the queue")
	}
	if passed := c.Submit(1, after(dependency.AfterBegin, first)); !inQueue(c, passed) {
		t.Error("a job waits for a begin that has been")
	}
}

// Each task of an array starts when that of the same number has completed; the others are canceled when the job has ended.
func TestTasksWaitForTheirTwins(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 16)
	first := c.Submit(1, array(3, 0))
	second := c.Submit(1, after(dependency.AfterCorr, first), array(4, 0))
	whole := c.Submit(1, after(dependency.AfterCorr, first))
	if lined(c, second, 0) || inQueue(c, whole) {
		t.Fatal("tasks do not wait")
	}
	wantCode(t, c.Try(c.Placement(model.TaskKey{Job: second, Task: 1})), model.CodeConflict)
	c.Exit(runs(c, first, 1), 0)
	if !lined(c, second, 1) || lined(c, second, 0) || inQueue(c, whole) {
		t.Fatal("not just the task of the same number is in the queue")
	}
	if e := taskOf(c, second, 1).Events; e != 1 {
		t.Errorf("its timeline has %d lines", e)
	}
	later := c.Submit(1, after(dependency.AfterCorr, first), array(2, 0))
	if !lined(c, later, 1) || lined(c, later, 0) {
		t.Error("a job that comes later does not start the task whose twin has completed")
	}
	runs(c, second, 1)
	c.Exit(runs(c, first, 0), 7)
	if lined(c, second, 0) || taskOf(c, second, 0).State != model.TaskQueued {
		t.Fatal("a task was decided before the job has ended")
	}
	c.Exit(runs(c, first, 2), 0)
	c.Do(settle(second, whole, later))
	for n, want := range []model.TaskState{model.TaskCanceled, model.TaskRunning, model.TaskQueued, model.TaskCanceled} {
		if task := taskOf(c, second, uint32(n)); task.State != want || task.Waits ||
			want == model.TaskCanceled && task.Reason != model.ReasonDependency {
			t.Errorf("task %d is %s for %q", n, task.State, task.Reason)
		}
	}
	wantTask(t, c, whole, model.TaskCanceled, model.ReasonDependency)
	if job, _ := c.State.Jobs.Get(second); job.Waits != 0 || c.State.Awaited.Len() != 0 {
		t.Error("the job still waits")
	}
	if r := c.Try(statetest.Job(1, after(dependency.AfterCorr, first), array(2, 0))); !r.OK() {
		t.Errorf("a job of which tasks can start is refused: %s", r.Detail)
	}
}

// A task without one of the same number waits for the whole job.
func TestTasksWithoutTwinsWaitForAll(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 16)
	first := c.Submit(1)
	second := c.Submit(1, after(dependency.AfterCorr, first), numbered("3,7"))
	c.Exit(runs(c, first, 0), 0)
	c.Do(settle(second))
	if !lined(c, second, 3) || !lined(c, second, 7) {
		t.Fatal("the job has completed, and tasks still wait")
	}
}

// Removing dependencies lets all tasks start.
func TestDroppedConditions(t *testing.T) {
	c := statetest.New(t)
	first := c.Submit(1, array(2, 0))
	second := c.Submit(1, after(dependency.AfterCorr, first), array(2, 0))
	c.Do(&command.DropDependencies{Job: second})
	if !lined(c, second, 0) || !lined(c, second, 1) {
		t.Error("tasks wait after dependencies that were removed")
	}
}

// Of conditions with a question mark one is enough, and the job is canceled when none can be met any more.
func TestOneConditionIsEnough(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 16)
	one, two, three := c.Submit(1), c.Submit(1), c.Submit(1)
	either := func(a, b model.JobID) func(*command.Submit) {
		return conditions(dependency.After{Job: a, Kind: dependency.AfterOK, Any: true},
			dependency.After{Job: b, Kind: dependency.AfterOK, Any: true})
	}
	met, vain := c.Submit(1, either(one, two)), c.Submit(1, either(one, three))
	mixed := c.Submit(1, conditions(dependency.After{Job: one, Kind: dependency.AfterOK, Any: true},
		dependency.After{Job: two, Kind: dependency.AfterOK, Any: true}, dependency.After{Job: three, Kind: dependency.AfterAny}))
	c.Exit(runs(c, one, 0), 3)
	c.Do(settle(met, vain, mixed))
	if inQueue(c, met) || taskOf(c, met, 0).State != model.TaskQueued || inQueue(c, mixed) {
		t.Fatal("one condition can be met no more, and the job does not wait for the other")
	}
	c.Exit(runs(c, two, 0), 0)
	c.Do(settle(met, mixed))
	if !inQueue(c, met) || inQueue(c, mixed) {
		t.Fatal("one condition is met, and the job waits, or a job does not that has a further condition")
	}
	c.Exit(runs(c, three, 0), 3)
	c.Do(settle(vain, mixed))
	wantTask(t, c, vain, model.TaskCanceled, model.ReasonDependency)
	if !inQueue(c, mixed) {
		t.Error("all conditions are met, and the job waits")
	}
	if r := c.Try(statetest.Job(1, either(one, three))); !strings.Contains(r.Detail, "ended otherwise") {
		t.Errorf("a job that waits in vain: %q", r.Detail)
	}
	if job := c.Submit(1, either(one, two)); !inQueue(c, job) {
		t.Error("a job waits for one of two, of which one has completed")
	}
}

// A condition on tasks of the same number may be one of several, of which one is enough for each task.
func TestOneConditionIsEnoughForATask(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 16)
	first, other := c.Submit(1, array(2, 0)), c.Submit(1)
	job := c.Submit(1, conditions(dependency.After{Job: first, Kind: dependency.AfterCorr, Any: true},
		dependency.After{Job: other, Kind: dependency.AfterOK, Any: true}), array(2, 0))
	c.Exit(runs(c, first, 0), 0)
	if !lined(c, job, 0) || lined(c, job, 1) {
		t.Fatal("not just the task whose twin has completed is in the queue")
	}
	c.Exit(runs(c, first, 1), 1)
	c.Do(settle(job))
	if lined(c, job, 1) || taskOf(c, job, 1).State != model.TaskQueued {
		t.Fatal("a task whose twin has failed does not wait for the other job")
	}
	c.Exit(runs(c, other, 0), 0)
	c.Do(settle(job))
	if !lined(c, job, 1) {
		t.Error("the other job has completed, and the task waits")
	}
}
