package leader_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

func waitsFor(kind dependency.Kind, on model.JobID) *command.Submit {
	b := job()
	b.After = []dependency.After{{Job: on, Kind: kind}}
	return b
}

func (f *fake) where(id model.JobID) (model.TaskState, model.Reason) {
	task, _ := f.view().Tasks.Get(model.TaskKey{Job: id})
	return task.State, task.Reason
}

// The end of a job is passed on to all dependent jobs, and their ends in turn, by commands of a bounded size.
func TestEndsArePassedOn(t *testing.T) {
	lead(t, nil, func(f *fake, _ *clock) {
		f.user(t, &command.SetRunning{})
		f.user(t, job())
		const crowd = command.MaxSettled + 40
		for range crowd {
			f.user(t, waitsFor(dependency.AfterOK, 1))
		}
		f.user(t, waitsFor(dependency.AfterAny, 2))
		synctest.Wait()
		if n := f.count(command.KindSettle); n != 0 {
			t.Errorf("%d commands were proposed for jobs of which none has ended", n)
		}
		f.user(t, &command.Cancel{Job: 1, Task: model.AllTasks})
		synctest.Wait()
		for id := model.JobID(2); id < 2+crowd; id++ {
			if at, why := f.where(id); at != model.TaskCanceled || why != model.ReasonDependency {
				t.Fatalf("job %s, which waits in vain, is %s for %q", id, at, why)
			}
		}
		if s := f.view(); s.Queue.Len() != 1 || s.Settling.Len() != 0 {
			t.Errorf("%d tasks stand in the queue, want the one that waited for any end", s.Queue.Len())
		}
		if n := f.count(command.KindSettle); n != 2 {
			t.Errorf("%d commands were proposed, want 2", n)
		}
	})
}

// A job that waits for a time after a begin gets its turn at that moment, by one command.
func TestDelaysEnd(t *testing.T) {
	lead(t, nil, func(f *fake, _ *clock) {
		f.user(t, &command.SetRunning{}) // first: a job that has a place ends only with its node's report
		f.user(t, job())
		b := waitsFor(dependency.AfterBegin, 1)
		b.After[0].Delay = 2 * time.Minute
		f.user(t, b)
		f.user(t, &command.Cancel{Job: 1, Task: model.AllTasks}) // without a begin the end counts
		synctest.Wait()
		before := f.count(command.KindSettle)
		time.Sleep(119 * time.Second)
		synctest.Wait()
		if s := f.view(); s.Queue.Len() != 0 || s.Delayed.Len() != 1 {
			t.Errorf("%d tasks stand in the queue before the delay has passed", s.Queue.Len())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := f.view(); s.Queue.Len() != 1 || s.Delayed.Len() != 0 {
			t.Errorf("%d tasks stand in the queue after the delay", s.Queue.Len())
		}
		if n := f.count(command.KindSettle) - before; n < 1 || n > 3 {
			t.Errorf("%d commands were proposed", n)
		}
	})
}

// A job whose deadline comes is failed at that moment: at once if it waits, and when it has been stopped if
// it runs. Until then nothing is proposed again.
func TestDeadlinesCome(t *testing.T) {
	lead(t, nil, func(f *fake, _ *clock) {
		for range 2 { // one runs on the only GPU
			b := job()
			b.Spec.Deadline = model.TimeOf(time.Now().Add(time.Minute))
			f.user(t, b)
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if at, _ := f.where(2); at != model.TaskQueued {
			t.Errorf("a job is %s before its deadline", at)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if at, why := f.where(2); at != model.TaskFailed || why != model.ReasonDeadline {
			t.Errorf("the job that waited is %s for %q", at, why)
		}
		a, _ := f.view().Attempts.Get(model.AttemptKey{Job: 1, N: 1})
		if a.Stop != model.ReasonDeadline {
			t.Errorf("the job that runs is being stopped for %q", a.Stop)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := f.count(command.KindOverdue); n != 1 {
			t.Errorf("%d commands were proposed, want 1", n)
		}
	})
}

// A job that is to begin later is placed then, without anything else happening.
func TestBegin(t *testing.T) {
	lead(t, nil, func(f *fake, _ *clock) {
		b := job()
		b.Spec.Begin = model.TimeOf(time.Now().Add(5 * time.Second))
		f.user(t, b)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if at, _ := f.where(1); at != model.TaskQueued {
			t.Errorf("it is %s before its time", at)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if at, _ := f.where(1); at != model.TaskScheduled {
			t.Errorf("it is %s after its time", at)
		}
	})
}
