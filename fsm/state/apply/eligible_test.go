package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A job waits since its submission, its begin, or since what it waited for had ended or was dropped.
func TestEligible(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	eligible := func(id model.JobID) model.Time {
		one := task(c, id)
		return one.Eligible()
	}
	first, begin := c.Submit(1), c.Now.Add(time.Hour)
	if got := eligible(first); got != c.Now {
		t.Errorf("a plain job: %s", got.Time())
	}
	late := c.Submit(1, func(b *command.Submit) { b.Spec.Begin = begin })
	if got := eligible(late); got != begin {
		t.Errorf("one with a begin: %s", got.Time())
	}
	met, dropped, waits := c.Submit(1, after(dependency.AfterAny, first)), c.Submit(1, after(dependency.AfterAny, first)),
		c.Submit(1, after(dependency.AfterAny, first))
	submitted := c.Now
	c.Wait(time.Minute)
	c.Do(&command.DropDependencies{Job: dropped})
	c.Do(&command.Release{Job: late, Task: model.AllTasks})
	was := c.Now
	c.Wait(time.Minute)
	ends(c, n, first, 0)
	c.Do(settle(met))
	if eligible(dropped) != was || eligible(met) != c.Now || eligible(waits) != submitted || eligible(late) != was {
		t.Errorf("%s, %s, %s, %s", eligible(dropped).Time(), eligible(met).Time(), eligible(waits).Time(), eligible(late).Time())
	}
}

// Time in which a job is held is no wait: not from its submission, not in between, and not together with a begin or with
// dependencies.
func TestHeldTimeIsNoWait(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	held := func(b *command.Submit) { b.Spec.Held = true }
	first := c.Submit(1)
	plain, from, between := c.Submit(1), c.Submit(1, held), c.Submit(1)
	both := c.Submit(1, held, func(b *command.Submit) { b.Spec.Begin = c.Now.Add(30 * time.Second) })
	chained := c.Submit(1, held, after(dependency.AfterAny, first))
	hold := func(id model.JobID) { c.Do(&command.Hold{Job: id, Task: model.AllTasks}) }
	release := func(id model.JobID) { c.Do(&command.Release{Job: id, Task: model.AllTasks}) }
	c.Wait(10 * time.Second)
	hold(between)
	ends(c, n, first, 0)
	c.Do(settle(chained))
	c.Wait(50 * time.Second)
	for _, id := range []model.JobID{from, between, both, chained} {
		release(id)
	}
	c.Wait(20 * time.Second)
	for id, want := range map[model.JobID]time.Duration{
		plain: 80 * time.Second, from: 20 * time.Second, between: 30 * time.Second,
		both: 20 * time.Second, chained: 20 * time.Second,
	} {
		one := task(c, id)
		if got := one.WaitedAt(c.Now); got != want {
			t.Errorf("job %s has waited %s, want %s", id, got, want)
		}
	}
	before := totals(c).Waited
	c.Start(c.Place(between))
	if one := task(c, between); one.Waited != 30*time.Second || totals(c).Waited-before != one.Waited ||
		one.Eligible() != c.Now.Add(-30*time.Second) {
		t.Errorf("at its start it had waited %s, counted are %s", one.Waited, totals(c).Waited-before)
	}
}

// What is sent back keeps its age with its run time, except for what it has ceded to another job. Held on the way back, it
// grows no older.
func TestWhatIsSentBackKeepsItsAge(t *testing.T) {
	for name, v := range map[string]struct {
		stop func(*life)
		want time.Duration
	}{
		"requeue":         {func(l *life) { l.Do(&command.Requeue{Job: l.job, Task: model.AllTasks}) }, 70 * time.Second},
		"requeue, held":   {func(l *life) { l.Do(&command.Requeue{Job: l.job, Task: model.AllTasks, Hold: true}) }, 60 * time.Second},
		"drain":           {func(l *life) { l.Do(&command.SetNodeMode{Node: "n1", Mode: model.ModeDraining}) }, 70 * time.Second},
		"for another job": {func(l *life) { l.Do(&command.Suspend{Attempts: []model.AttemptKey{l.a}}) }, 40 * time.Second},
	} {
		l := placed(t, 4)
		l.Wait(30 * time.Second)
		l.Start(l.a)
		l.Wait(30 * time.Second)
		v.stop(l)
		l.Report(exited(l.a.Rank(0), model.Exit{Code: 143, Delivered: attempt(l.Cluster, l.a).Stop, Ran: 30 * time.Second}))
		l.Wait(10 * time.Second)
		one := task(l.Cluster, l.job)
		if got := one.WaitedAt(l.Now) - one.Ceded; one.State != model.TaskQueued || got != v.want {
			t.Errorf("%s: it is %s and counts as having waited %s, want %s", name, one.State, got, v.want)
		}
		if one.Waited != 30*time.Second {
			t.Errorf("%s: it waited %s for its first start", name, one.Waited)
		}
	}
}

// A job that is canceled, or can never run, while it waits for another one has not waited.
func TestWhatCouldNeverRunHasNotWaited(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 4)
	first := c.Submit(1)
	gone, doomed, twin := c.Submit(1, after(dependency.AfterOK, first)), c.Submit(1, after(dependency.AfterOK, first)),
		c.Submit(1, after(dependency.AfterCorr, first))
	c.Wait(time.Minute)
	c.Do(cancel(gone))
	ends(c, n, first, 1)
	c.Do(settle(doomed, twin))
	for _, id := range []model.JobID{gone, doomed, twin} {
		if one := task(c, id); one.State != model.TaskCanceled || one.NotRunAt(one.Ended) != 0 {
			t.Errorf("job %s is %s and has waited %s", id, one.State, one.NotRunAt(one.Ended))
		}
	}
}

// A clock of waiting that no command leaves like that is named.
func TestCheckNamesBrokenWaits(t *testing.T) {
	key := model.TaskKey{Job: 1}
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*model.Task)
	}{
		"since before its submission":  {check.OnlyForward, func(r *model.Task) { r.Since = 1 }},
		"since an instant to come":     {check.OnlyForward, func(r *model.Task) { r.Since = model.Never }},
		"held and growing older":       {check.OnlyForward, func(r *model.Task) { r.Held = true }},
		"not held and not growing":     {check.OnlyForward, func(r *model.Task) { r.Paused = r.Since }},
		"a wait without a start":       {check.TotalsAgree, func(r *model.Task) { r.Started, r.Waited = 0, 1 }},
		"a wait before its submission": {check.TotalsAgree, func(r *model.Task) { r.Waited = time.Hour }},
		"a start to come":              {check.OnlyForward, func(r *model.Task) { r.Started = model.Never }},
		"ceded without having run":     {check.TotalsAgree, func(r *model.Task) { r.Ceded = 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			statetest.CheckNames(t, v.want, func(s *state.State) { statetest.Put(&s.Tasks, key, v.change) })
		})
	}
}
