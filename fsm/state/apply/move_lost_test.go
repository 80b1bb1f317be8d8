package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A loss is the leader's decision on a node that is suspect and has been silent since; any message from it
// meanwhile voids the loss.
func TestLossNeedsSilence(t *testing.T) {
	l := running(t, 4)
	lost := &command.RankLost{Rank: l.a.Rank(0), Epoch: l.n1.Epoch(), Seq: l.n1.Seq()}
	wantCode(t, l.Try(lost), model.CodeNotSuspect)
	l.n1.Suspect()
	l.n1.Renew()
	wantCode(t, l.Try(lost), model.CodeStaleSeq)
	l.n1.Suspect()
	lost.Seq = l.n1.Seq()
	l.n1.Register()
	wantCode(t, l.Try(lost), model.CodeStaleEpoch)
	wantCode(t, l.Try(&command.RankLost{Rank: l.a.Rank(0), Epoch: l.n1.Epoch(), Orphan: 3}), model.CodeConflict)
	l.want(t, model.TaskRunning, model.ReasonNone)
	l.n1.Lose(l.a.Rank(0))
	l.want(t, model.TaskQueued, model.ReasonLost)
	wantCode(t, l.Try(lost), model.CodeNotLive)
	wantOwners(t, l.Cluster, "n1", model.OwnerCleaning, 4)
}

// What becomes of a job when its node falls silent or proves that its processes
// are gone.
func TestOnLost(t *testing.T) {
	lose := func(l *life) { l.n1.Lose(l.a.Rank(0)) }
	reboot := func(l *life) { l.n1.Reboot() }
	dead := func(l *life) {
		l.n1.Suspect()
		l.Do(&command.ConfirmDead{Node: "n1", Epoch: l.n1.Epoch()})
	}
	for _, v := range []struct {
		name  string
		want  model.OnLost
		how   func(*life)
		state model.TaskState
		why   model.Reason
	}{
		{"requeue lost", model.OnLostRequeue, lose, model.TaskQueued, model.ReasonLost},
		{"fail lost", model.OnLostFail, lose, model.TaskFailed, model.ReasonLost},
		{"requeue rebooted", model.OnLostRequeue, reboot, model.TaskQueued, model.ReasonRebooted},
		{"hold rebooted", model.OnLostHold, reboot, model.TaskQueued, model.ReasonRebooted},
		{"fail rebooted", model.OnLostFail, reboot, model.TaskFailed, model.ReasonRebooted},
		{"fail dead", model.OnLostFail, dead, model.TaskFailed, model.ReasonConfirmedDead},
		{"requeue dead", model.OnLostRequeue, dead, model.TaskQueued, model.ReasonConfirmedDead},
		{"hold dead", model.OnLostHold, dead, model.TaskQueued, model.ReasonConfirmedDead},
	} {
		t.Run(v.name, func(t *testing.T) {
			l := running(t, 4, onLost(v.want))
			v.how(l)
			l.want(t, v.state, v.why)
			if got := task(l.Cluster, l.job); got.Lost != 1 || got.Retries != 0 {
				t.Errorf("the task keeps %+v", got)
			}
		})
	}
}

// A job that holds is given up by no silence.
func TestHoldIsNeverFenced(t *testing.T) {
	l := running(t, 4, onLost(model.OnLostHold))
	l.n1.Suspect()
	wantCode(t, l.Try(&command.RankLost{Rank: l.a.Rank(0), Epoch: l.n1.Epoch(), Seq: l.n1.Seq()}), model.CodeOnHold)
	l.want(t, model.TaskRunning, model.ReasonNone)
}

// Machines that break again and again end a job at last.
func TestLossesAreBounded(t *testing.T) {
	l := running(t, 4)
	for n := range 17 {
		l.n1.Reboot()
		if n == 16 {
			break
		}
		l.want(t, model.TaskQueued, model.ReasonRebooted)
		l.Start(l.Place(l.job))
	}
	l.want(t, model.TaskFailed, model.ReasonRebooted)
}

// The true end of a lost attempt counts as long as its task waits.
func TestLateExits(t *testing.T) {
	for _, v := range []struct {
		name  string
		exit  model.Exit
		state model.TaskState
		why   model.Reason
	}{
		{"completed", model.Exit{Ran: time.Minute}, model.TaskCompleted, model.ReasonExit},
		{"failed", model.Exit{Code: 5}, model.TaskFailed, model.ReasonExit},
		{"fenced", model.Exit{Fenced: true, Signal: 9}, model.TaskQueued, model.ReasonLost},
		{"stopped", model.Exit{Delivered: model.ReasonCancel}, model.TaskQueued, model.ReasonLost},
	} {
		t.Run(v.name, func(t *testing.T) {
			l := running(t, 4)
			l.n1.Lose(l.a.Rank(0))
			l.Do(l.n1.Report(exited(l.a.Rank(0), v.exit)))
			l.want(t, v.state, v.why)
			if r := rank(l.Cluster, l.a.Rank(0)); !r.Late || r.Exit != v.exit || r.Phase != model.RankLost {
				t.Errorf("the rank keeps %+v", r)
			}
			if got := task(l.Cluster, l.job); (got.Lost == 0) != (v.why == model.ReasonExit) {
				t.Errorf("the task keeps %+v", got)
			}
			before := l.State
			l.Do(l.n1.Report(exited(l.a.Rank(0), failing(0))))
			if l.State.Ranks != before.Ranks || l.State.Tasks != before.Tasks {
				t.Error("a second late exit changes something")
			}
		})
	}
}

// Once a successor has been placed, a late exit is only remembered.
func TestLateExitAfterASuccessor(t *testing.T) {
	l := running(t, 4)
	l.n1.Lose(l.a.Rank(0))
	next := l.Place(l.job)
	l.Do(l.n1.Report(exited(l.a.Rank(0), model.Exit{})))
	l.want(t, model.TaskScheduled, model.ReasonLost)
	l.Exit(next, 0)
	l.want(t, model.TaskCompleted, model.ReasonExit)
}

// A gang's late ends count when the last of them is in.
func TestLateExitsOfAGang(t *testing.T) {
	l := running(t, 8, onTwoNodes)
	l.n1.Lose(l.a.Rank(0))
	l.n2.Lose(l.a.Rank(1))
	l.Do(l.n1.Report(exited(l.a.Rank(0), model.Exit{Ran: time.Hour})))
	l.want(t, model.TaskQueued, model.ReasonLost)
	l.Do(l.n2.Report(exited(l.a.Rank(1), model.Exit{Ran: time.Minute})))
	l.want(t, model.TaskCompleted, model.ReasonExit)
	if got := task(l.Cluster, l.job); got.Executed != time.Hour {
		t.Errorf("the task ran for %s, want the longest rank's hour", got.Executed)
	}
	if n := totals(l.Cluster); n.GPUSeconds != 4*3600+4*60 || n.Lost != 0 || n.Completed != 1 {
		t.Errorf("the totals are %+v", n)
	}
}

// Ends that a registration brings count before its reboot is taken as proof.
func TestTruthBeforeProof(t *testing.T) {
	l := running(t, 4)
	l.n1.Reboot(func(b *command.Register) {
		b.Reports = []model.Progress{exited(l.a.Rank(0), model.Exit{Ran: time.Minute})}
	})
	l.want(t, model.TaskCompleted, model.ReasonExit)
	wantOwners(t, l.Cluster, "n1", model.OwnerNone, 4)
}

// A data folder that was wiped leaves orphans: not wanted any more, but given up
// only when a lease's time has passed, whatever the node renews.
func TestWipedFolderLeavesOrphans(t *testing.T) {
	l := running(t, 4)
	l.n1.Register(func(b *command.Register) { b.Lineage, b.Folders = "lineage-2", nil })
	at := l.State.Index
	if r := rank(l.Cluster, l.a.Rank(0)); r.Orphan != at {
		t.Fatalf("the rank is an orphan since %d, want %d", r.Orphan, at)
	}
	l.want(t, model.TaskRunning, model.ReasonNone)
	if d := l.State.Desired("n1"); len(d.Ranks) != 0 {
		t.Fatalf("an orphan is desired: %+v", d)
	}
	l.n1.Register(func(b *command.Register) { b.Lineage, b.Folders = "lineage-3", nil })
	if r := rank(l.Cluster, l.a.Rank(0)); r.Orphan != at {
		t.Errorf("another registration makes it an orphan since %d", r.Orphan)
	}
	wantCode(t, l.Try(&command.RankLost{Rank: l.a.Rank(0), Epoch: l.n1.Epoch(), Seq: l.n1.Seq()}), model.CodeConflict)
	l.n1.Renew()
	l.Do(&command.RankLost{Rank: l.a.Rank(0), Orphan: at})
	l.want(t, model.TaskQueued, model.ReasonLost)
}

// A rank that no agent has taken is none's orphan, unless the folder that might
// have taken it is gone.
func TestOrphansOfUntakenRanks(t *testing.T) {
	l := placed(t, 4)
	l.n1.Register()
	if r := rank(l.Cluster, l.a.Rank(0)); r.Orphan != 0 {
		t.Error("an untaken rank is an orphan after a restart of the agent")
	}
	l.n1.Register(func(b *command.Register) { b.Lineage = "lineage-2" })
	if r := rank(l.Cluster, l.a.Rank(0)); r.Orphan == 0 {
		t.Error("an untaken rank is no orphan after the folder was wiped")
	}
}

// A rank that an agent with the same data folder has no folder for is no orphan: the desired set goes on naming it, with its phase, so
// that the agent reports what became of it, and a stop is carried out.
func TestARankThatLostItsFolderIsDesired(t *testing.T) {
	l := running(t, 4)
	l.n1.Register(func(b *command.Register) { b.Folders = nil })
	d := l.State.Desired("n1")
	if r := rank(l.Cluster, l.a.Rank(0)); r.Orphan != 0 || len(d.Ranks) != 1 || d.Ranks[0].Rank != r.Key ||
		d.Ranks[0].Phase != model.RankRunning {
		t.Errorf("the rank is %+v, desired is %+v", r, d.Ranks)
	}
}

// A registration that was held up on its way through a reboot proves nothing: a
// boot does not come back.
func TestALateRegistrationIsNoReboot(t *testing.T) {
	for name, keep := range map[string]func(*command.Register, string){
		"boot":    func(b *command.Register, old string) { b.Boot = old },
		"lineage": func(b *command.Register, old string) { b.Lineage = old },
	} {
		t.Run(name, func(t *testing.T) {
			c := statetest.New(t)
			n1 := c.Node("n1", 1)
			late := *n1.Body(func(b *command.Register) { b.Follows = 0 }) // an agent of an older program
			old := map[string]string{"boot": late.Boot, "lineage": late.Lineage}[name]
			n1.Register(func(b *command.Register) { keep(b, old+"-next") })
			a := c.Place(c.Submit(1))
			c.Start(a)
			wantCode(t, c.Try(&late), model.CodeStaleEpoch)
			if got := task(c, a.Job); got.State != model.TaskRunning {
				t.Errorf("the task is %s, want running", got.State)
			}
		})
	}
}

// Nor does one of a boot, or a data folder, that the cluster had not heard of before it
// was gone already: the host has registered since, and must not be shut out by it.
func TestARegistrationOutOfTurnIsNoReboot(t *testing.T) {
	for name, identity := range map[string]func(*command.Register) *string{
		"boot":    func(b *command.Register) *string { return &b.Boot },
		"lineage": func(b *command.Register) *string { return &b.Lineage },
	} {
		t.Run(name, func(t *testing.T) {
			c := statetest.New(t)
			n1 := c.Node("n1", 1)
			unheard := n1.Body(func(b *command.Register) { *identity(b) += "-unheard" })
			n1.Register(func(b *command.Register) { *identity(b) += "-next" })
			a := c.Place(c.Submit(1))
			c.Start(a)
			epoch := n1.Epoch()
			r := c.Try(unheard)
			wantCode(t, r, model.CodeStaleEpoch)
			if r.Number != epoch {
				t.Errorf("the refusal tells of epoch %d, want %d", r.Number, epoch)
			}
			if got := task(c, a.Job); got.State != model.TaskRunning {
				t.Errorf("the task is %s, want running", got.State)
			}
			n1.Register()
		})
	}
}
