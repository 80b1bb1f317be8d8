package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

func after(kind dependency.Kind, jobs ...model.JobID) func(*command.Submit) {
	return func(b *command.Submit) {
		for _, id := range jobs {
			b.After = append(b.After, dependency.After{Job: id, Kind: kind})
		}
	}
}

func numbered(text string) func(*command.Submit) {
	return func(b *command.Submit) {
		b.Spec.Array = text
		b.Tasks = uint32(b.Spec.Count())
	}
}

func inQueue(c *statetest.Cluster, job model.JobID) bool {
	for k := range c.State.Queue.All() {
		if k.Task.Job == job {
			return true
		}
	}
	return false
}

// ends runs task 0 of a job to its end.
func ends(c *statetest.Cluster, n *statetest.Agent, job model.JobID, code int32) {
	a := c.Place(job)
	c.Start(a)
	c.Exit(a, code)
	n.Clean()
}

func settle(jobs ...model.JobID) *command.Settle { return &command.Settle{Jobs: jobs} }

// A job joins the queue when the last one that it waits for has ended as it should.
func TestADependencyIsMet(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	first, second := c.Submit(1), c.Submit(1)
	job := c.Submit(1, after(dependency.AfterOK, first), after(dependency.AfterAny, second))
	if inQueue(c, job) || c.Placement(model.TaskKey{Job: job}) == nil {
		t.Fatal("a job that waits for others stands in the queue, or there is no room for it")
	}
	wantCode(t, c.Try(c.Placement(model.TaskKey{Job: job})), model.CodeConflict)
	wantCode(t, c.Try(&command.Preempt{
		Victims: []model.AttemptKey{{Job: first, N: 1}}, Beneficiary: model.TaskKey{Job: job}, Until: c.Now.Add(time.Hour),
	}), model.CodeNotQueued)
	ends(c, n, first, 0)
	if r := c.Do(settle(job)); r.Number != 1 || inQueue(c, job) {
		t.Fatal("one of two that it waits for is not enough")
	}
	ends(c, n, second, 3)
	if r := c.Do(settle(job, 99)); r.Number != 1 || !inQueue(c, job) {
		t.Fatal("the job waits for no other, and is not in the queue")
	}
	if got := tells(c, job); got[len(got)-1] != model.EventMet {
		t.Errorf("its timeline tells %v", got)
	}
	c.Place(job)
	if r := c.Do(settle(job)); r.Number != 0 {
		t.Error("it was settled twice")
	}
}

// What waits in vain is canceled, and so is what waits for that, one after the other.
func TestADependencyIsNeverMet(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	first := c.Submit(1)
	second := c.Submit(1, after(dependency.AfterOK, first), array(3, 0))
	third := c.Submit(1, after(dependency.AfterOK, second))
	other := c.Submit(1, after(dependency.AfterNotOK, first))
	ends(c, n, first, 1)
	if !c.State.Settling.Has(first) || c.State.Settling.Has(second) {
		t.Fatal("the state does not say of which jobs the end is to be passed on")
	}
	c.Do(settle(second, other))
	wantTask(t, c, second, model.TaskCanceled, model.ReasonDependency)
	if !inQueue(c, other) || c.State.Settling.Has(first) || !c.State.Settling.Has(second) {
		t.Fatal("a failure was not passed on to all dependent jobs")
	}
	c.Do(settle(third))
	wantTask(t, c, third, model.TaskCanceled, model.ReasonDependency)
	for k, e := range c.State.Events.From(model.EventKey{Job: second, Seq: 1}) {
		if k.Job == second && e.Detail != "job 1 has failed, not completed" {
			t.Errorf("the timeline says %q", e.Detail)
		}
		break
	}
	if c.State.Settling.Len()+c.State.Awaited.Len() != 0 {
		t.Error("a job still waits")
	}
}

// Dependencies are checked at submission.
func TestWhatCannotBeAwaited(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	failed, done := c.Submit(1), c.Submit(1)
	ends(c, n, failed, 1)
	ends(c, n, done, 0)
	next := c.State.Settings().NextJob
	for _, v := range []struct {
		on   model.JobID
		kind dependency.Kind
		says string
	}{
		{next, dependency.AfterAny, "no job 3 yet"},
		{next + 7, dependency.AfterOK, "no job 10 yet"},
		{failed, dependency.AfterOK, "job 1 has failed"},
		{done, dependency.AfterNotOK, "job 2 has completed"},
	} {
		r := c.Try(statetest.Job(1, after(v.kind, v.on)))
		if wantCode(t, r, model.CodeInvalid); !strings.Contains(r.Detail, v.says) {
			t.Errorf("%s of job %s: %s", v.kind, v.on, r.Detail)
		}
	}
	job := c.Submit(1, after(dependency.AfterNotOK, failed), after(dependency.AfterOK, done))
	if !inQueue(c, job) || c.State.Dependencies.Len() != 2 {
		t.Error("what was met before the submission keeps the job")
	}
	c.Do(&command.Retire{Jobs: []model.JobID{failed}, ArchivedTo: c.State.Index})
	if r := c.Try(statetest.Job(1, after(dependency.AfterAny, failed))); !strings.Contains(r.Detail, "forgotten") {
		t.Errorf("a job that is forgotten: %+v", r)
	}
}

// A job that others wait for stays until they have been notified.
func TestRetentionWaits(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	first := c.Submit(1)
	job := c.Submit(1, after(dependency.AfterAny, first))
	ends(c, n, first, 0)
	retire := &command.Retire{Jobs: []model.JobID{first}, ArchivedTo: c.State.Index}
	wantCode(t, c.Try(retire), model.CodeConflict)
	c.Do(settle(job))
	c.Do(retire)
	c.Do(cancel(job))
	c.Do(&command.Retire{Jobs: []model.JobID{job}, ArchivedTo: c.State.Index})
	if c.State.Dependencies.Len() != 0 {
		t.Error("the dependencies of a job are not forgotten with it")
	}
}

// Canceling a job that waits, or letting it wait no longer, ends the wait.
func TestNobodyWaitsAnyMore(t *testing.T) {
	c := statetest.New(t)
	first := c.Submit(1)
	one, two := c.Submit(1, after(dependency.AfterOK, first)), c.Submit(1, after(dependency.AfterOK, first), array(3, 0))
	c.Do(cancel(one))
	c.Do(&command.DropDependencies{Job: two, Note: "it is urgent"})
	if !inQueue(c, two) || c.State.Awaited.Len() != 0 {
		t.Fatal("a dependency that was dropped still counts")
	}
	if got := tells(c, two); got[len(got)-1] != model.EventUnbound {
		t.Errorf("its timeline tells %v", got)
	}
	wantCode(t, c.Try(&command.DropDependencies{Job: two}), model.CodeConflict)
	wantCode(t, c.Try(&command.DropDependencies{Job: one}), model.CodeTerminal)
	wantCode(t, c.Try(&command.DropDependencies{Job: 99}), model.CodeNotFound)
}

// Held tasks stay held, and one that was not to begin yet stays so, when a wait is over.
func TestWaitsAddUp(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	first := c.Submit(1)
	job := c.Submit(1, after(dependency.AfterOK, first), func(b *command.Submit) {
		b.Spec.Held, b.Spec.Begin = true, c.Now.Add(time.Hour)
	})
	ends(c, n, first, 0)
	c.Do(settle(job))
	if inQueue(c, job) {
		t.Fatal("a held job stands in the queue")
	}
	c.Do(release(job))
	if !inQueue(c, job) || c.State.Due.Len() != 1 {
		t.Fatal("a release lifts the hold, not the begin")
	}
	wantCode(t, c.Try(c.Placement(model.TaskKey{Job: job})), model.CodeConflict)
	c.Wait(time.Hour)
	c.Place(job)
}

func TestBeginIsReleased(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 4)
	job := c.Submit(1, func(b *command.Submit) { b.Spec.Begin = c.Now.Add(time.Hour) })
	wantCode(t, c.Try(c.Placement(model.TaskKey{Job: job})), model.CodeConflict)
	c.Do(release(job))
	c.Place(job)
	began := func(ago time.Duration) func(*command.Submit) {
		return func(b *command.Submit) { b.Spec.Begin = c.Now.Add(-ago) }
	}
	c.Place(c.Submit(1, began(10*time.Second))) // now, when it was asked for
	wantCode(t, c.Try(statetest.Job(1, began(time.Hour))), model.CodeInvalid)
}

func TestDeadline(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 1)
	in := func(d time.Duration) func(*command.Submit) {
		return func(b *command.Submit) { b.Spec.Deadline = c.Now.Add(d) }
	}
	wantCode(t, c.Try(statetest.Job(1, in(0))), model.CodeInvalid)
	wantCode(t, c.Try(statetest.Job(1, in(2*model.MaxDuration))), model.CodeInvalid)
	job := c.Submit(1, in(time.Minute), array(2, 0), retries(3))
	late := c.Submit(1, in(time.Hour))
	a := c.Place(job)
	c.Start(a)
	if r := c.Do(&command.Overdue{Jobs: []model.JobID{job}}); r.Number != 0 {
		t.Fatal("a deadline came before its time")
	}
	c.Wait(time.Minute)
	if r := c.Do(&command.Overdue{Jobs: []model.JobID{job, late, 99}}); r.Number != 1 {
		t.Fatalf("%d jobs are overdue", r.Number)
	}
	if got := attempt(c, a); got.Stop != model.ReasonDeadline || !c.State.Deadlines.Has(state.DeadlineKey{At: c.Now, Job: job}) {
		t.Fatalf("the attempt is being stopped for %q", got.Stop)
	}
	if waits, _ := c.State.Tasks.Get(model.TaskKey{Job: job, Task: 1}); waits.State != model.TaskFailed ||
		waits.Reason != model.ReasonDeadline {
		t.Fatalf("the task that waited is %s for %q", waits.State, waits.Reason)
	}
	c.Stopped(a)
	n.Clean()
	wantTask(t, c, job, model.TaskFailed, model.ReasonDeadline)
	if c.State.Deadlines.Len() != 1 {
		t.Error("a job that has ended is still awaited by its deadline")
	}
}

// A deadline is stronger than a time limit, a cancel is stronger still.
func TestDeadlineAmongReasons(t *testing.T) {
	for why, want := range map[model.Reason]bool{
		model.ReasonPreempt: true, model.ReasonTimeLimit: true, model.ReasonGPUFault: true, model.ReasonCancel: false,
	} {
		if model.ReasonDeadline.Outranks(why) != want {
			t.Errorf("a deadline outranks %s: %v", why, !want)
		}
	}
}

// The tasks of an array have the numbers that were asked for, and are named by them.
func TestNumberedTasks(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	job := c.Submit(1, numbered("3,7,9-12"))
	if row, _ := c.State.Jobs.Get(job); row.Tasks != 6 || !c.State.Tasks.Has(model.TaskKey{Job: job, Task: 12}) {
		t.Fatalf("the array has %d tasks", row.Tasks)
	}
	pick := func(text string) *command.Cancel {
		return &command.Cancel{Job: job, Task: model.AllTasks, Tasks: text}
	}
	if r := c.Do(pick("0-10")); r.Number != 4 {
		t.Fatalf("%d tasks were canceled", r.Number)
	}
	wantCode(t, c.Try(pick("7-9")), model.CodeTerminal)
	wantCode(t, c.Try(pick("0,100")), model.CodeNotFound)
	wantCode(t, c.Try(&command.Cancel{Job: job, Task: 0}), model.CodeNotFound)
	wantCode(t, c.Try(&command.Cancel{Job: job, Task: 3}), model.CodeTerminal)
	if r := c.Do(&command.Hold{Job: job, Task: model.AllTasks, Tasks: "11"}); r.Number != 1 {
		t.Fatalf("%d tasks were held", r.Number)
	}
	a := c.PlaceTask(model.TaskKey{Job: job, Task: 12})
	c.Start(a)
	c.Do(&command.Requeue{Job: job, Task: model.AllTasks, Tasks: "12"})
	c.Stopped(a)
	n.Clean()
	c.Do(&command.Release{Job: job, Task: model.AllTasks, Tasks: "11-12"})
	if got, _ := c.State.Tasks.Get(model.TaskKey{Job: job, Task: 11}); got.Held || c.State.Queue.Len() != 2 {
		t.Errorf("%d tasks stand in the queue", c.State.Queue.Len())
	}
}

// An array of one task is an array, whose task has its number.
func TestArrayOfOne(t *testing.T) {
	c := statetest.New(t)
	job := c.Submit(1, numbered("5"))
	if row, _ := c.State.Jobs.Get(job); !row.Array() || !c.State.Tasks.Has(model.TaskKey{Job: job, Task: 5}) {
		t.Error("it is none")
	}
}
