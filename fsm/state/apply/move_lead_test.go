package apply_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// led makes a job of two nodes end with rank 0.
func led(b *command.Submit) {
	onTwoNodes(b)
	b.Spec.Lead = true
}

// stoppedBy returns the report of a rank that a stop has ended.
func stoppedBy(r model.RankKey, why model.Reason) model.Progress {
	return exited(r, model.Exit{Signal: 15, Delivered: why})
}

// When rank 0 has ended, the others are stopped, and the job's end is that of rank 0, however the others end.
func TestAJobEndsWithItsLead(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		lead  model.Exit
		other model.Progress
		state model.TaskState
	}{
		"completed": {
			model.Exit{},
			model.Progress{Phase: model.RankExited, Exit: model.Exit{Signal: 15, Delivered: model.ReasonLeadEnded}},
			model.TaskCompleted,
		},
		"other exits by itself":   {model.Exit{}, model.Progress{Phase: model.RankExited, Exit: model.Exit{Code: 1}}, model.TaskCompleted},
		"other is fenced":         {model.Exit{}, model.Progress{Phase: model.RankExited, Exit: model.Exit{Signal: 9, Fenced: true}}, model.TaskCompleted},
		"failed":                  {model.Exit{Code: 7}, model.Progress{Phase: model.RankExited, Exit: model.Exit{Code: 1}}, model.TaskFailed},
		"failed, other completed": {model.Exit{Code: 7}, model.Progress{Phase: model.RankExited}, model.TaskFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := running(t, 8, led)
			l.Report(exited(l.a.Rank(0), v.lead))
			l.want(t, model.TaskRunning, model.ReasonNone)
			if d := l.State.Desired("n2"); len(d.Ranks) != 1 || d.Ranks[0].Stop != model.ReasonLeadEnded {
				t.Fatalf("the other node is to have %+v", d.Ranks)
			}
			v.other.Rank = l.a.Rank(1)
			l.Report(v.other)
			l.want(t, v.state, model.ReasonExit)
			if got := task(l.Cluster, l.job); got.ExitCode != v.lead.Code || got.Lost != 0 {
				t.Errorf("the task keeps %+v", got)
			}
			if got := attempt(l.Cluster, l.a); v.state == model.TaskFailed && got.FirstRank != 1 {
				t.Errorf("the attempt is %+v", got)
			}
		})
	}
}

// The loss of another rank after the end of rank 0 changes nothing.
func TestALossAfterTheLead(t *testing.T) {
	t.Parallel()
	l := running(t, 8, led)
	l.Report(exited(l.a.Rank(0), model.Exit{}))
	l.n2.Lose(l.a.Rank(1))
	l.want(t, model.TaskCompleted, model.ReasonExit)
}

// A cancel after the end of rank 0 changes nothing, either; before that end the cancel decides.
func TestACancelAndTheLead(t *testing.T) {
	t.Parallel()
	l := running(t, 8, led)
	l.Report(exited(l.a.Rank(0), model.Exit{}))
	l.Do(&command.Cancel{Job: l.job, Task: model.AllTasks})
	l.Report(stoppedBy(l.a.Rank(1), model.ReasonCancel))
	l.want(t, model.TaskCompleted, model.ReasonExit)

	l = running(t, 8, led)
	l.Do(&command.Cancel{Job: l.job, Task: model.AllTasks})
	l.Report(stoppedBy(l.a.Rank(0), model.ReasonCancel))
	l.Report(stoppedBy(l.a.Rank(1), model.ReasonCancel))
	l.want(t, model.TaskCanceled, model.ReasonCancel)
}

// Another rank that fails before rank 0 has ended breaks the gang. Rank 0 decides if the stop has not reached it.
func TestAnotherRankFailsBeforeTheLead(t *testing.T) {
	t.Parallel()
	l := running(t, 8, led)
	l.Report(exited(l.a.Rank(1), model.Exit{Code: 3}))
	if got := attempt(l.Cluster, l.a); got.Stop != model.ReasonGangBroken {
		t.Fatalf("the attempt is %+v", got)
	}
	l.Report(stoppedBy(l.a.Rank(0), model.ReasonGangBroken))
	l.want(t, model.TaskFailed, model.ReasonExit)
	if got := task(l.Cluster, l.job); got.ExitCode != 3 {
		t.Errorf("the exit is %d", got.ExitCode)
	}

	l = running(t, 8, led)
	l.Report(exited(l.a.Rank(1), model.Exit{Code: 3})) // its report was faster than that of rank 0
	l.Report(exited(l.a.Rank(0), model.Exit{}))
	l.want(t, model.TaskCompleted, model.ReasonExit)
}

// The true end of a rank 0 that had been given up decides, whatever the other ranks did.
func TestALateLead(t *testing.T) {
	t.Parallel()
	l := running(t, 8, led)
	l.n1.Lose(l.a.Rank(0))
	l.Report(stoppedBy(l.a.Rank(1), model.ReasonGangBroken))
	l.want(t, model.TaskQueued, model.ReasonLost)
	l.Report(exited(l.a.Rank(0), model.Exit{}))
	l.want(t, model.TaskCompleted, model.ReasonExit)
}

// The ranks of an attempt on several nodes get the secret of the attempt, with the addresses, once they may run.
func TestASecretForAGang(t *testing.T) {
	t.Parallel()
	l := placed(t, 8, led)
	if d := l.State.Desired("n1"); !d.Ranks[0].Secret.IsZero() {
		t.Error("the secret is shown before the gang may run")
	}
	for r := range uint32(2) {
		l.Report(model.Progress{Rank: l.a.Rank(r), Phase: model.RankReady, Address: "10.0.0.9", Port: 4000})
	}
	one, two := l.State.Desired("n1").Ranks[0], l.State.Desired("n2").Ranks[0]
	if one.Secret.IsZero() || one.Secret != two.Secret || len(one.Gang) != 2 {
		t.Errorf("the ranks get %s and %s, and %v", one.Secret, two.Secret, one.Gang)
	}
	l.Exit(l.a, 0)
	if got := attempt(l.Cluster, l.a); !got.Secret.IsZero() {
		t.Error("the secret is kept after the end")
	}
}
