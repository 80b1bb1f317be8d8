package apply_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A normal life, state by state, with its timeline.
func TestAGoodLife(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	job := c.Submit(2)
	wantTask(t, c, job, model.TaskQueued, model.ReasonNone)
	c.Wait(time.Minute)
	a := c.Place(job)
	wantTask(t, c, job, model.TaskScheduled, model.ReasonNone)
	c.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankTaken})
	wantTask(t, c, job, model.TaskAllocating, model.ReasonNone)
	c.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankReady})
	wantTask(t, c, job, model.TaskAllocating, model.ReasonNone)
	c.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankRunning})
	wantTask(t, c, job, model.TaskRunning, model.ReasonNone)
	c.Exit(a, 0)
	wantTask(t, c, job, model.TaskCompleted, model.ReasonExit)
	wantOwners(t, c, "n1", model.OwnerCleaning, 2)
	n.Clean()
	wantOwners(t, c, "n1", model.OwnerNone, 4)

	want := []model.EventKind{model.EventSubmitted, model.EventScheduled, model.EventAllocating, model.EventRunning, model.EventCompleted}
	if got := tells(c, job); !slices.Equal(got, want) {
		t.Errorf("the timeline tells %v, want %v", got, want)
	}
	if n := totals(c); n.Completed != 1 || n.Started != 1 || n.Waited != time.Minute || n.GPUSeconds != 120 {
		t.Errorf("the totals are %+v", n)
	}
	if got := task(c, job); got.Executed != time.Minute || got.Started == 0 || got.Ended == 0 {
		t.Errorf("the task keeps %+v", got)
	}
}

// The life of a job wakes none that wait for a change of the settings.
func TestAJobChangesNoSettings(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	changed := func() uint64 { return c.State.Settings().Topics[model.TopicSettings] }
	before := changed()
	job := c.Submit(2)
	a := c.Place(job)
	c.Start(a)
	c.Exit(a, 0)
	n.Clean()
	c.Do(&command.Retire{Jobs: []model.JobID{job}, ArchivedTo: c.State.Index})
	if after := changed(); after != before {
		t.Errorf("the settings changed at %d and at %d, when a job ran", before, after)
	}
	c.Do(&command.SetRunning{})
	if changed() == before {
		t.Error("a change of the settings does not show")
	}
}

// An agent may report the end first; the earlier phases are implied.
func TestAnEndAloneTellsTheStart(t *testing.T) {
	l := placed(t, 2)
	l.Exit(l.a, 0)
	l.want(t, model.TaskCompleted, model.ReasonExit)
	if a := attempt(l.Cluster, l.a); a.Started == 0 || a.Begun != 1 {
		t.Errorf("the attempt keeps %+v", a)
	}
}

// A retry waits twice as long each time, up to an hour, in the same class and in
// the old place of the queue; then the job has failed.
func TestRetriesBackOff(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 1)
	job := c.Submit(1, retries(12))
	for try := range 12 {
		a := c.Place(job)
		if a.N != uint32(try+1) {
			t.Fatalf("try %d is attempt %d", try, a.N)
		}
		c.Exit(a, 3)
		n.Clean()
		want := min(10*time.Second<<min(try, 9), time.Hour)
		got := task(c, job)
		if wait := got.NotBefore.Sub(c.Now); got.State != model.TaskQueued || wait != want {
			t.Fatalf("after try %d the task is %s for %s, want queued for %s", try, got.State, wait, want)
		}
		if got.Class != model.ClassNormal || got.ExitCode != 3 {
			t.Fatalf("after try %d the task keeps %+v", try, got)
		}
		wantCode(t, c.Try(c.Placement(got.Key)), model.CodeConflict)
		c.Wait(want)
	}
	c.Exit(c.Place(job), 4)
	wantTask(t, c, job, model.TaskFailed, model.ReasonExit)
	if got := task(c, job); got.ExitCode != 4 || got.Retries != 12 {
		t.Errorf("the failed task keeps %+v", got)
	}
}

// Reports that come again or late change nothing and are acknowledged.
func TestOldReportsChangeNothing(t *testing.T) {
	l := running(t, 2)
	for _, phase := range []model.RankPhase{model.RankTaken, model.RankReady, model.RankRunning} {
		before := l.State
		if code := l.Report(model.Progress{Rank: l.a.Rank(0), Phase: phase}); code != model.CodeOK {
			t.Errorf("%s again is answered %s", phase, code)
		}
		if l.State.Ranks != before.Ranks || l.State.Attempts != before.Attempts {
			t.Errorf("%s again changes the rank", phase)
		}
	}
	l.Exit(l.a, 0)
	before := l.State
	l.Report(exited(l.a.Rank(0), failing(time.Hour)))
	if l.State.Tasks != before.Tasks || l.State.Ranks != before.Ranks {
		t.Error("another end of an ended rank counts")
	}
	l.want(t, model.TaskCompleted, model.ReasonExit)
}

// What a rank has done cannot be unsaid: a rank that ran, or ended, has not
// "never started", and above all does not end twice.
func TestNeverStartedIsNoSecondEnd(t *testing.T) {
	l := running(t, 8, onTwoNodes)
	never := model.Progress{Rank: l.a.Rank(0), Phase: model.RankNever}
	if code := l.Report(never); code != model.CodeConflict {
		t.Errorf("a running rank that never started is answered %s", code)
	}
	l.Report(exited(l.a.Rank(0), model.Exit{}))
	if code := l.Report(never); code != model.CodeOK {
		t.Errorf("after the end it is answered %s", code)
	}
	l.want(t, model.TaskRunning, model.ReasonNone)
	l.Exit(l.a, 0)
	l.want(t, model.TaskCompleted, model.ReasonExit)
}

// A report names rank and node; what is not there or is another's is refused.
func TestReportsOfStrangers(t *testing.T) {
	l := placed(t, 2)
	r := l.n2.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankTaken},
		model.Progress{Rank: l.a.Rank(7), Phase: model.RankTaken})
	if got := l.Do(r).Verdicts; !slices.Equal(got, []model.Code{model.CodeDenied, model.CodeNotFound}) {
		t.Errorf("the verdicts are %v", got)
	}
	l.want(t, model.TaskScheduled, model.ReasonNone)
}

// A timeline keeps its beginning and its latest lines, however long a life is.
func TestTimelinesFold(t *testing.T) {
	c := statetest.New(t)
	job := c.Submit(1)
	for range 100 {
		c.Do(hold(job))
		c.Do(release(job))
	}
	got := tells(c, job)
	if k := task(c, job); len(got) != 64 || k.Events != 201 || k.Folded != 137 || got[0] != model.EventSubmitted {
		t.Errorf("%d lines remain of %d, %d folded", len(got), k.Events, k.Folded)
	}
	tasks := c.Submit(1, array(3, 0))
	for range 10 {
		c.Do(hold(tasks))
		c.Do(release(tasks))
	}
	if n := len(tells(c, tasks)); n != 8 {
		t.Errorf("%d lines remain of an array's task, want 8", n)
	}
}

// A task keeps its latest hundred attempts in full, and those before as long as
// one of their GPUs is not shown clean, but no longer.
func TestAttemptsFold(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 2)
	c.Node("n2", 1)
	job := c.Submit(1)
	first := c.Place(job)
	c.Do(requeue(job))
	c.Stopped(first) // its GPU stays in cleaning
	for range 120 {
		a := c.Place(job)
		c.Do(requeue(job))
		c.Stopped(a)
		r := n.Report()
		for _, k := range c.State.Desired("n1").Clean {
			if k.Rank.Attempt() != first {
				r.Cleaned = append(r.Cleaned, model.Cleaned{Slot: k.Slot, Rank: k.Rank})
			}
		}
		c.Do(r)
	}
	if got := c.State.Attempts.Len(); got != 101 || !c.State.Attempts.Has(first) {
		t.Fatalf("%d attempts are kept, want 100 and the first", got)
	}
	n.Clean()
	c.Place(job)
	if got := c.State.Attempts.Len(); got != 100 || c.State.Attempts.Has(first) {
		t.Errorf("%d attempts are kept after all is clean, want 100", got)
	}
}
