package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A job that is moved has the place of the other one as it was, with a line in its timeline; a class ends the place.
func TestAJobIsMovedAhead(t *testing.T) {
	t.Parallel()
	l := placed(t, 1)
	first, second := l.Submit(2, func(b *command.Submit) { b.Spec.Class = model.ClassHigh }), l.Submit(1)
	before := func(job, other model.JobID) command.Result {
		return l.Try(&command.SetPriority{Job: job, Before: other})
	}
	if r := before(second, first); !r.OK() || r.Job != second {
		t.Fatalf("%+v", r)
	}
	job, _ := l.State.Jobs.Get(second)
	other, _ := l.State.Jobs.Get(first)
	if p := job.Place; p.Before != first || p.Turn != 1 || p.Class != model.ClassHigh || p.Since != other.Submitted || p.GPUs != 2 ||
		p.Task.Job != first || p.User != other.Spec.User {
		t.Errorf("its place is %+v", p)
	}
	if task, _ := l.State.FirstTask(second); task.Class != model.ClassNormal || job.Spec.Class != model.ClassNormal {
		t.Errorf("its class is %s", task.Class)
	}
	var last model.Event
	for k, e := range l.State.Events.From(model.EventKey{Job: second}) {
		if k.Job == second {
			last = e
		}
	}
	if last.What != model.EventPriority || last.Detail != "moved ahead of job "+first.String() {
		t.Errorf("its timeline ends with %+v", last)
	}
	events := l.State.Events.Len()
	if r := before(second, first); !r.OK() || l.State.Events.Len() != events {
		t.Errorf("moved to where it is: %+v, %d more lines", r, l.State.Events.Len()-events)
	}
	l.Do(setPriority(second, model.ClassNormal))
	if job, _ := l.State.Jobs.Get(second); job.Place.Moved() || l.State.Events.Len() != events+1 {
		t.Errorf("after a class it has the place %+v", job.Place)
	}
}

// The place of a job that is held, waits for another one, or is to begin later is one like any other: such a state is sound
// before and after the instant, and once the other job has gone.
func TestAJobIsMovedAheadOfOneThatMayNotRunYet(t *testing.T) {
	t.Parallel()
	l := placed(t, 1)
	begin := l.Now.Add(time.Hour)
	for name, other := range map[string]func(*command.Submit){
		"a begin":           func(b *command.Submit) { b.Spec.Begin = begin },
		"a hold":            func(b *command.Submit) { b.Spec.Held = true },
		"a hold and begin":  func(b *command.Submit) { b.Spec.Held, b.Spec.Begin = true, begin },
		"a dependency":      after(dependency.AfterAny, l.job),
		"a begin and other": func(b *command.Submit) { after(dependency.AfterAny, l.job)(b); b.Spec.Begin = begin },
	} {
		before, job := l.Submit(1, other), l.Submit(1)
		since := task(l.Cluster, before).Since
		l.Do(&command.SetPriority{Job: job, Before: before})
		if row, _ := l.State.Jobs.Get(job); row.Place.Since != since {
			t.Errorf("%s: it has the place of %s, want %s", name, row.Place.Since.Time(), since.Time())
		}
		l.Do(cancel(before))
	}
	if err := check.State(&l.State); err != nil {
		t.Error(err)
	}
	l.Wait(2 * time.Hour)
	l.Submit(1)
}

// Only a job that waits is moved, and only ahead of another one that waits with it.
func TestMovesThatAreRefused(t *testing.T) {
	t.Parallel()
	l := placed(t, 1) // job 1 runs
	waits := l.Submit(1)
	held := l.Submit(1, func(b *command.Submit) { b.Spec.Held = true })
	done := l.Submit(1)
	l.Do(cancel(done))
	small := l.Submit(0, func(b *command.Submit) { b.Spec.CPUs, b.Spec.MemoryMB = 1, 100 })
	for _, v := range []struct {
		job, before model.JobID
		want        model.Code
	}{
		{1, waits, model.CodeNotQueued},
		{waits, 1, model.CodeNotQueued},
		{waits, 99, model.CodeNotFound},
		{99, waits, model.CodeNotFound},
		{done, waits, model.CodeTerminal},
		{waits, done, model.CodeTerminal},
		{waits, small, model.CodeConflict},
		{small, waits, model.CodeConflict},
		{waits, held, model.CodeOK},
		{held, waits, model.CodeOK},
	} {
		was := l.State.Digest()
		wantCode(t, l.Try(&command.SetPriority{Job: v.job, Before: v.before}), v.want)
		if job, _ := l.State.Jobs.Get(v.job); v.want != model.CodeOK && job.Place.Moved() {
			t.Errorf("job %s was moved ahead of %s; the state was %x", v.job, v.before, was)
		}
	}
	for _, b := range []*command.SetPriority{
		{Job: waits, Before: waits},
		{Job: waits, Before: held, Class: model.ClassLow},
		{Job: waits, Before: held, Priority: 3},
		{Job: waits},
		{Before: waits},
	} {
		if b.Validate() == nil {
			t.Errorf("%+v is valid", b)
		}
	}
}

// The place holds over a start and a return to the queue.
func TestAPlaceHoldsOverAnAttempt(t *testing.T) {
	t.Parallel()
	l := statetest.New(t)
	l.Node("n1", 2)
	first, second := l.Submit(1), l.Submit(1)
	l.Do(&command.SetPriority{Job: second, Before: first})
	job, _ := l.State.Jobs.Get(second)
	a := l.Place(second)
	l.Start(a)
	l.Do(&command.Requeue{Job: second, Task: model.AllTasks})
	l.Stopped(a)
	again, _ := l.State.Jobs.Get(second)
	if task, _ := l.State.FirstTask(second); again.Place != job.Place || task.State != model.TaskQueued {
		t.Errorf("the place was %+v and is %+v; the task is %s", job.Place, again.Place, task.State)
	}
}

// Check names places that there never were, and two jobs at one.
func TestCheckNamesBrokenPlaces(t *testing.T) {
	t.Parallel()
	l := placed(t, 1)
	first, second, third := l.Submit(1), l.Submit(1), l.Submit(1)
	l.Do(&command.SetPriority{Job: second, Before: first})
	l.Do(&command.SetPriority{Job: third, Before: first})
	for name, change := range map[string]func(*model.Job){
		"of a job that is yet to come":  func(j *model.Job) { j.Place.Task.Job = 99 },
		"ahead of itself":               func(j *model.Job) { j.Place.Before = j.ID },
		"without a class":               func(j *model.Job) { j.Place.Class = 0 },
		"without a turn":                func(j *model.Job) { j.Place.Turn = 0 },
		"that has ceded less than none": func(j *model.Job) { j.Place.Executed = -1 },
		"of no user":                    func(j *model.Job) { j.Place.User = "" },
		"of a job without GPUs":         func(j *model.Job) { j.Place.GPUs = 0 },
		"of a job that was not moved":   func(j *model.Job) { j.Place.Before = 0 },
		"which another job has as well": func(j *model.Job) { j.Place.Turn = 1 },
	} {
		s := l.State
		if err := check.State(&s); err != nil {
			t.Fatal(err)
		}
		statetest.Put(&s.Jobs, second, change)
		s, err := statetest.Reseal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := check.State(&s); !statetest.Names(err, check.References) {
			t.Errorf("a place %s: Check says %v", name, err)
		}
	}
}
