package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// asks names a way to ask a running job's attempt to stop.
var asks = map[string]func(*life) command.Body{
	"cancel":  func(l *life) command.Body { return cancel(l.job) },
	"requeue": func(l *life) command.Body { return requeue(l.job) },
	"drain":   func(*life) command.Body { return &command.SetNodeMode{Node: "n1", Mode: model.ModeDraining} },
	"preempt": func(l *life) command.Body {
		return &command.Preempt{Victims: []model.AttemptKey{l.a}, Beneficiary: model.TaskKey{Job: l.Submit(4)}, Until: l.Now + 1e12}
	},
	"none": nil,
}

// A stop whose signal was delivered decides how the attempt ends, also at exit 0; one that was not leaves it
// to the exit. The stop is only a request until the node has reported.
func TestDeliveredStopsDecide(t *testing.T) {
	for _, v := range []struct {
		ask       string
		delivered model.Reason
		code      int32
		state     model.TaskState
		why       model.Reason
	}{
		{"cancel", model.ReasonCancel, 0, model.TaskCanceled, model.ReasonCancel},
		{"cancel", model.ReasonCancel, 1, model.TaskCanceled, model.ReasonCancel},
		{"cancel", model.ReasonNone, 0, model.TaskCompleted, model.ReasonExit},
		{"cancel", model.ReasonNone, 1, model.TaskFailed, model.ReasonExit},
		{"requeue", model.ReasonRequeue, 0, model.TaskQueued, model.ReasonRequeue},
		{"requeue", model.ReasonNone, 0, model.TaskCompleted, model.ReasonExit},
		{"drain", model.ReasonDrain, 0, model.TaskQueued, model.ReasonDrain},
		{"drain", model.ReasonDrain, 1, model.TaskQueued, model.ReasonDrain},
		{"drain", model.ReasonNone, 1, model.TaskFailed, model.ReasonExit},
		{"preempt", model.ReasonPreempt, 0, model.TaskQueued, model.ReasonPreempt},
		{"preempt", model.ReasonNone, 0, model.TaskCompleted, model.ReasonExit},
		{"none", model.ReasonTimeLimit, 0, model.TaskFailed, model.ReasonTimeLimit},
		{"none", model.ReasonNone, 0, model.TaskCompleted, model.ReasonExit},
		{"none", model.ReasonNone, 2, model.TaskFailed, model.ReasonExit},
	} {
		t.Run(v.ask+" "+v.delivered.String(), func(t *testing.T) {
			l := running(t, 4)
			if ask := asks[v.ask]; ask != nil {
				l.Do(ask(l))
			}
			l.want(t, model.TaskRunning, model.ReasonNone)
			wantOwners(t, l.Cluster, "n1", model.OwnerAttempt, 4)
			l.Report(exited(l.a.Rank(0), model.Exit{Code: v.code, Delivered: v.delivered}))
			l.want(t, v.state, v.why)
			wantOwners(t, l.Cluster, "n1", model.OwnerCleaning, 4)
			if got := task(l.Cluster, l.job); got.Retries != 0 || got.NotBefore != 0 {
				t.Errorf("a stop was charged: %+v", got)
			}
		})
	}
}

// A cancel overrules a preemption, and is overruled by nothing.
func TestCancelOverrules(t *testing.T) {
	l := running(t, 4)
	l.Do(asks["preempt"](l))
	l.Do(cancel(l.job))
	if got := attempt(l.Cluster, l.a); got.Stop != model.ReasonCancel || got.StopBy != l.Actor {
		t.Fatalf("the attempt is stopped for %s by %s", got.Stop, got.StopBy)
	}
	l.Do(asks["drain"](l))
	l.Report(exited(l.a.Rank(0), model.Exit{Signal: 15, Delivered: model.ReasonPreempt}))
	l.want(t, model.TaskCanceled, model.ReasonCancel)
}

// A job that its user has canceled is not tried again, even if it failed before
// the signal.
func TestCanceledJobsAreNotRetried(t *testing.T) {
	l := running(t, 4, retries(3))
	l.Do(cancel(l.job))
	l.Exit(l.a, 1)
	l.want(t, model.TaskFailed, model.ReasonExit)
}

// A cancel of an attempt that no agent has taken waits for the agent's word.
func TestCancelWaitsForTheAgent(t *testing.T) {
	l := placed(t, 4)
	l.Do(cancel(l.job))
	l.want(t, model.TaskScheduled, model.ReasonNone)
	wantOwners(t, l.Cluster, "n1", model.OwnerAttempt, 4)
	if d := l.State.Desired("n1"); len(d.Ranks) != 1 || d.Ranks[0].Stop != model.ReasonCancel {
		t.Fatalf("desired is %+v", d)
	}
	l.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankNever, Detail: "canceled before its start"})
	l.want(t, model.TaskCanceled, model.ReasonCancel)
}

// A job that waits is canceled at once; one that has ended cannot be.
func TestCancelInTheQueue(t *testing.T) {
	l := placed(t, 4)
	job := l.Submit(1, array(3, 0))
	r := l.Do(&command.Cancel{Job: job, Task: 1})
	if r.Number != 1 || r.Job != job {
		t.Errorf("the answer is %+v", r)
	}
	wantCode(t, l.Try(&command.Cancel{Job: job, Task: 1}), model.CodeTerminal)
	if r = l.Do(cancel(job)); r.Number != 2 {
		t.Errorf("%d tasks were canceled, want the other 2", r.Number)
	}
	if j, _ := l.State.Jobs.Get(job); j.Canceled != 3 || j.Open != 0 || j.EndIndex != l.State.Index {
		t.Errorf("the job is %+v", j)
	}
}

// Not started in time: uncharged, and tried again after a while.
func TestStartDeadline(t *testing.T) {
	l := placed(t, 4)
	l.Do(&command.StartOverdue{Attempt: l.a})
	l.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankNever})
	l.want(t, model.TaskQueued, model.ReasonStartDeadline)
	if got := task(l.Cluster, l.job); got.Retries != 0 || got.NotBefore.Sub(l.Now).Seconds() != 10 {
		t.Errorf("the task keeps %+v", got)
	}
	wantCode(t, l.Try(&command.StartOverdue{Attempt: l.a}), model.CodeNotLive)
	l = running(t, 4)
	wantCode(t, l.Try(&command.StartOverdue{Attempt: l.a}), model.CodeConflict)
}

// The time limit of what runs is raised with the job's, and never lowered.
func TestExtend(t *testing.T) {
	l := running(t, 4, func(b *command.Submit) { b.Spec.TimeLimit = time.Hour })
	for _, limit := range []time.Duration{time.Minute, time.Hour} {
		wantCode(t, l.Try(&command.Extend{Job: l.job, TimeLimit: limit}), model.CodeConflict)
	}
	before := l.State.DesiredIndex("n1")
	l.Do(&command.Extend{Job: l.job, TimeLimit: 2 * time.Hour})
	if got := l.State.Desired("n1").Ranks[0]; got.Frozen.TimeLimit != 2*time.Hour || got.Spec.TimeLimit != 2*time.Hour {
		t.Errorf("the node is told %s of %s", got.Frozen.TimeLimit, got.Spec.TimeLimit)
	}
	if l.State.DesiredIndex("n1") <= before {
		t.Error("the node was not woken")
	}
	by := &command.Extend{Job: l.job, By: time.Hour}
	l.Do(by)
	if got := l.State.Desired("n1").Ranks[0].Frozen.TimeLimit; got != 3*time.Hour {
		t.Errorf("an hour more than two is %s", got)
	}
	wantCode(t, l.Try(&command.Extend{Job: l.job, By: model.MaxDuration}), model.CodeConflict)
	unlimited := l.Submit(1)
	wantCode(t, l.Try(&command.Extend{Job: unlimited, TimeLimit: time.Hour}), model.CodeConflict)
	l.Exit(l.a, 0)
	wantCode(t, l.Try(&command.Extend{Job: l.job, TimeLimit: 9 * time.Hour}), model.CodeTerminal)
}

// Only the exit codes that a job names are tried again; a signal counts as 128 plus
// its number.
func TestRetryOn(t *testing.T) {
	for _, v := range []struct {
		exit  model.Exit
		state model.TaskState
	}{
		{model.Exit{Code: 75}, model.TaskQueued},
		{model.Exit{Signal: 9}, model.TaskQueued},
		{model.Exit{Code: 137}, model.TaskQueued},
		{model.Exit{Code: 1}, model.TaskFailed},
		{model.Exit{Signal: 11}, model.TaskFailed},
	} {
		l := running(t, 4, retries(2), func(b *command.Submit) { b.Spec.RetryOn = "75,137" })
		l.Report(exited(l.a.Rank(0), v.exit))
		l.want(t, v.state, model.ReasonExit)
		if got := task(l.Cluster, l.job); v.state == model.TaskQueued && (got.Avoid != 1 || got.Retries != 1) {
			t.Errorf("after %+v the task keeps %+v", v.exit, got)
		}
	}
}
