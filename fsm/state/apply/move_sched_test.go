package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

func preemptible(b *command.Submit) { b.Spec.Preemptible = true }

func fixed(b *command.Submit) { b.Spec.Preemptible = false }

// A suspended attempt goes back to the queue uncharged; what may not be suspended
// is left alone, and so are all that the command names with it.
func TestSuspend(t *testing.T) {
	l := running(t, 2, preemptible)
	other := l.Place(l.Submit(1, fixed))
	suspend := func(a ...model.AttemptKey) command.Result {
		return l.Try(&command.Suspend{Attempts: a, Decided: l.State.Index})
	}
	wantCode(t, suspend(l.a, other), model.CodeDenied)
	wantCode(t, suspend(model.TaskKey{Job: 99}.Attempt(1)), model.CodeNotLive)
	if a := attempt(l.Cluster, l.a); a.Stop != model.ReasonNone {
		t.Fatalf("a refused suspension stops %+v", a)
	}
	wantCode(t, suspend(l.a), model.CodeOK)
	l.Stopped(l.a)
	l.want(t, model.TaskQueued, model.ReasonPreempt)
	if task := task(l.Cluster, l.a.Job); task.Preempted != 1 || task.Retries != 0 {
		t.Errorf("the task counts %+v", task)
	}
}

// A share counts what is held as it runs, and keeps what was held.
func TestSharesFollowWhatIsHeld(t *testing.T) {
	l := running(t, 4)
	key := model.ShareKey{User: "alice"}
	week := model.DefaultTuning().HalfLife
	l.Wait(time.Hour)
	share, _ := l.State.Shares.Get(key)
	if got := share.UsedAt(l.Now, week); share.GPUs != 4 || got < 14_300 || got > 14_400 {
		t.Fatalf("after an hour on 4 GPUs the share is %d s: %+v", got, share)
	}
	l.Do(cancel(l.a.Job))
	l.Stopped(l.a)
	share, _ = l.State.Shares.Get(key)
	if got := share.UsedAt(l.Now.Add(week), week); share.GPUs != 0 || got < 7_000 || got > 7_300 {
		t.Errorf("a week later the share is %d s: %+v", got, share)
	}
}

// However short what a user runs, and however much begins meanwhile, a share counts it all.
func TestSharesCountShortJobs(t *testing.T) {
	l := running(t, 4)
	key := model.ShareKey{User: "alice"}
	for range 100 {
		l.Wait(5 * time.Second)
		other := l.Place(l.Submit(1))
		l.Start(other)
		l.Wait(700 * time.Millisecond)
		l.Do(cancel(other.Job))
		l.Stopped(other)
		l.n2.Clean()
	}
	share, _ := l.State.Shares.Get(key)
	if got, want := share.UsedAt(l.Now, model.DefaultTuning().HalfLife), int64(100*(4*5.7+0.7)); got < want-10 || got > want+5 {
		t.Errorf("a share is %d GPU-seconds, %d were used: %+v", got, want, share)
	}
}

// A weight of the default is no row; the bounds hold.
func TestWeights(t *testing.T) {
	l := running(t, 1)
	ann := model.ScopeKey{Kind: model.ScopeUser, Name: "ann"}
	l.Do(&command.SetWeight{Weight: model.Weight{Scope: ann, Shares: 300}})
	if w, _ := l.State.Weights.Get(ann); w.Shares != 300 {
		t.Errorf("ann has %+v", w)
	}
	l.Do(&command.SetWeight{Weight: model.Weight{Scope: ann, Shares: model.DefaultWeight}})
	if l.State.Weights.Len() != 0 {
		t.Error("the default weight is a row")
	}
}

// Two commands for different values at the same time both take effect; values that are changed together are
// changed as a whole or not at all.
func TestAdjustPolicy(t *testing.T) {
	l := statetest.New(t)
	tune := func(name, value string) []model.TuningValue { return []model.TuningValue{{Name: name, Value: value}} }
	l.Do(&command.AdjustPolicy{Tuning: tune("depth", "7")})
	l.Do(&command.AdjustPolicy{Tuning: tune("half_life", "72h0m0s"), Policy: "sjf"})
	l.Do(&command.AdjustPolicy{Limits: []model.LimitValue{{Of: model.LimitLive, Value: 9}}})
	want := model.DefaultTuning()
	want.Depth, want.HalfLife = 7, 72*time.Hour
	check := func() {
		t.Helper()
		limit, _ := l.State.Limits.Get(model.ScopeKey{Kind: model.ScopeCluster})
		if set := l.State.Settings(); set.Policy != "sjf" || set.Tuning != want || limit.Live != 9 {
			t.Errorf("the policy is %s, tuned by %+v, and %d may run", set.Policy, set.Tuning, limit.Live)
		}
	}
	check()
	period := []model.LimitValue{{Of: model.LimitPeriod, Value: int64(time.Hour)}} // of no quota
	wantCode(t, l.Try(&command.AdjustPolicy{Policy: "fcfs", Tuning: tune("depth", "9"), Limits: period}), model.CodeInvalid)
	check()
	for _, b := range []*command.AdjustPolicy{
		{},
		{Tuning: tune("depth", "0")},
		{Tuning: tune("colour", "red")},
		{Tuning: append(tune("depth", "1"), tune("depth", "2")...)},
		{Policy: "fcfs", Limits: []model.LimitValue{{Of: model.LimitLive, Value: -9}}},
	} {
		if b.Validate() == nil {
			t.Errorf("%+v is allowed", b)
		}
	}
}

// What a task is expected to need follows from the estimate, else from runs like
// it, else from what it has had; a time limit bounds it.
func TestExpect(t *testing.T) {
	var few, many model.Sketch
	few.Log2[12] = 2
	many.Log2[10], many.Log2[12], many.Log2[20] = 1, 3, 1
	for _, v := range []struct {
		name                         string
		estimate, limit, had, expect time.Duration
		past                         model.Sketch
	}{
		{"nothing known", 0, 0, 0, time.Hour, few},
		{"nothing known, had much", 0, 0, 9 * time.Hour, 9 * time.Hour, few},
		{"a limit", 0, 10 * time.Minute, 0, 10 * time.Minute, few},
		{"an estimate", 5 * time.Hour, 0, time.Hour, 4 * time.Hour, many},
		{"an estimate that was too short", 5 * time.Hour, 0, 6 * time.Hour, 15 * time.Minute, many},
		{"runs like it", 0, 0, 0, 6144 * time.Second, many},
		{"longer than runs like it", 0, 0, 2 * time.Hour, 2 * time.Hour, many},
		{"a limit that is over", time.Hour, time.Hour, 2 * time.Hour, 0, many},
	} {
		spec := &model.Spec{Estimate: v.estimate, TimeLimit: v.limit}
		if got := state.Expect(spec, &v.past, v.had); got != v.expect {
			t.Errorf("%s: %s, want %s", v.name, got, v.expect)
		}
	}
}

// Runs without a name are grouped by their command: short ones do not predict others, and runs of the same
// thing predict each other.
func TestUnnamedRunsAreToldApart(t *testing.T) {
	t.Parallel()
	unnamed := func(text, script string) *command.Submit {
		b := statetest.Job(1)
		b.Spec.Name, b.Spec.RunID, b.Spec.Command, b.Spec.TimeLimit, b.Spec.Estimate, b.Script = "", "", text, 0, 0, script
		return b
	}
	long := strings.Repeat("x", model.MaxText)
	for name, v := range map[string]struct {
		short, next *command.Submit
		known       bool
	}{
		"another command":          {unnamed("true", ""), unnamed("python3 train.py", ""), false},
		"the same command":         {unnamed("true", ""), unnamed("true", ""), true},
		"another script":           {unnamed("", "true\n"), unnamed("", "train\n"), false},
		"the same script":          {unnamed("", "true\n"), unnamed("", "true\n"), true},
		"a script's arguments":     {unnamed("1", "true\n"), unnamed("2", "true\n"), false},
		"the end of long commands": {unnamed(long+"1", ""), unnamed(long+"2", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := statetest.New(t)
			n := c.Node("n1", 1)
			for range 4 {
				a := c.Place(c.Do(v.short).Job)
				c.Start(a)
				c.Now = c.Now.Add(2 * time.Second)
				c.Exit(a, 0)
				n.Clean()
			}
			task, _ := c.State.FirstTask(c.Do(v.next).Job)
			if got := task.Expected < time.Hour; got != v.known {
				t.Errorf("it is expected to run %s", task.Expected)
			}
		})
	}
}

// A task's key in the queue follows what it is expected to need when it came or
// came back.
func TestTheQueueKnowsWhatIsExpected(t *testing.T) {
	l := running(t, 1, preemptible, func(b *command.Submit) { b.Spec.Estimate = 4 * time.Hour })
	l.Do(&command.Suspend{Attempts: []model.AttemptKey{l.a}, Decided: l.State.Index})
	l.Do(l.n1.Report(
		exited(l.a.Rank(0), model.Exit{Signal: 15, Delivered: model.ReasonPreempt, Ran: 2 * time.Hour}),
	))
	fresh := l.Submit(1, fixed)
	for k := range l.State.Queue.All() {
		run := k.Run.Value()
		switch k.Task.Job {
		case l.a.Job:
			if !run.Again || !run.Preemptible || run.Executed != model.StepOf(2*time.Hour) || run.Expected != model.StepOf(2*time.Hour) {
				t.Errorf("the suspended job's run is %+v", run)
			}
		case fresh:
			if run.Again || run.Preemptible || run.Expected != model.StepOf(time.Hour) {
				t.Errorf("the new job's run is %+v", run)
			}
		}
	}
	if l.State.Queue.Len() != 2 {
		t.Errorf("%d wait", l.State.Queue.Len())
	}
}
