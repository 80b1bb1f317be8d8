package apply_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// The ranks of a gang may start when the last of them is ready, with everyone's
// address.
func TestGangsStartTogether(t *testing.T) {
	l := placed(t, 8, onTwoNodes)
	ready := func(r uint32) {
		l.Report(model.Progress{Rank: l.a.Rank(r), Phase: model.RankReady, Address: "10.0.0.9", Port: 4000})
	}
	ready(0)
	if attempt(l.Cluster, l.a).Run {
		t.Fatal("the gang may run with one rank ready")
	}
	before := l.State.DesiredIndex("n1")
	ready(1)
	d := l.State.Desired("n1")
	if len(d.Ranks) != 1 || !d.Ranks[0].Run || len(d.Ranks[0].Gang) != 2 || d.Ranks[0].Gang[1].Address != "10.0.0.9" {
		t.Fatalf("desired is %+v", d)
	}
	if l.State.DesiredIndex("n1") == before {
		t.Error("the first node is not woken by the second's word")
	}
	l.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankRunning})
	l.want(t, model.TaskAllocating, model.ReasonNone)
	l.Report(model.Progress{Rank: l.a.Rank(1), Phase: model.RankRunning})
	l.want(t, model.TaskRunning, model.ReasonNone)
}

// A stop closes the gate of a gang for good.
func TestAStoppedGangDoesNotStart(t *testing.T) {
	l := placed(t, 8, onTwoNodes)
	l.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankReady})
	l.Do(requeue(l.job))
	l.Report(model.Progress{Rank: l.a.Rank(1), Phase: model.RankReady})
	if attempt(l.Cluster, l.a).Run {
		t.Error("a stopped gang may run")
	}
}

// One rank that fails breaks the gang; the attempt is over when all have ended,
// with the exit of the first.
func TestAFailedRankBreaksTheGang(t *testing.T) {
	l := running(t, 8, onTwoNodes)
	l.Report(exited(l.a.Rank(1), model.Exit{Code: 7}))
	l.want(t, model.TaskRunning, model.ReasonNone)
	if got := attempt(l.Cluster, l.a); got.Stop != model.ReasonGangBroken || got.FirstRank != 2 {
		t.Fatalf("the attempt is %+v", got)
	}
	wantOwners(t, l.Cluster, "n1", model.OwnerAttempt, 4)
	wantOwners(t, l.Cluster, "n2", model.OwnerCleaning, 4)
	l.Stopped(l.a)
	l.want(t, model.TaskFailed, model.ReasonExit)
	if got := task(l.Cluster, l.job); got.ExitCode != 7 {
		t.Errorf("the exit is %d, want that of the first rank that failed", got.ExitCode)
	}
}

// One rank that is lost breaks the gang; the others' nodes bring theirs to an end
// before the job goes back to the queue.
func TestALostRankBreaksTheGang(t *testing.T) {
	l := running(t, 8, onTwoNodes)
	l.n2.Lose(l.a.Rank(1))
	l.want(t, model.TaskRunning, model.ReasonNone)
	if d := l.State.Desired("n1"); d.Ranks[0].Stop != model.ReasonGangBroken {
		t.Fatalf("desired of the healthy node is %+v", d)
	}
	l.Stopped(l.a)
	l.want(t, model.TaskQueued, model.ReasonLost)
	if got := task(l.Cluster, l.job); got.Lost != 1 || got.Retries != 0 {
		t.Errorf("the task keeps %+v", got)
	}
}

// Both nodes of a gang fall silent: lost rank by rank.
func TestALostGang(t *testing.T) {
	l := running(t, 8, onTwoNodes)
	l.n1.Lose(l.a.Rank(0))
	l.n2.Lose(l.a.Rank(1))
	l.want(t, model.TaskQueued, model.ReasonLost)
	wantOwners(t, l.Cluster, "n1", model.OwnerCleaning, 4)
	wantOwners(t, l.Cluster, "n2", model.OwnerCleaning, 4)
}

// A rank that refuses to start breaks its gang, uncharged.
func TestARefusalBreaksTheGang(t *testing.T) {
	l := placed(t, 8, onTwoNodes)
	l.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankNever, Detail: "no image"})
	if got := attempt(l.Cluster, l.a); got.Stop != model.ReasonGangBroken {
		t.Fatalf("the attempt is %+v", got)
	}
	l.Report(model.Progress{Rank: l.a.Rank(1), Phase: model.RankNever})
	l.want(t, model.TaskQueued, model.ReasonStartDeadline)
}

// A rank that is stopped before its start has not broken the gang: what was asked
// for decides, and nothing is charged.
func TestAStopBeforeTheStartIsNoBreak(t *testing.T) {
	for name, ask := range map[string]func(*life) command.Body{"requeue": asks["requeue"], "drain": asks["drain"]} {
		t.Run(name, func(t *testing.T) {
			l := placed(t, 8, onTwoNodes)
			l.Do(ask(l))
			why := attempt(l.Cluster, l.a).Stop
			l.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankNever})
			l.Report(model.Progress{Rank: l.a.Rank(1), Phase: model.RankNever})
			l.want(t, model.TaskQueued, why)
			if got := task(l.Cluster, l.job); got.Lost != 0 || got.NotBefore != 0 {
				t.Errorf("it was charged: %+v", got)
			}
		})
	}
}

// A gang whose rank was lost while it was being stopped for a lower reason goes
// by the loss.
func TestALossOverrulesAPreemption(t *testing.T) {
	l := running(t, 8, onTwoNodes)
	l.Do(requeue(l.job))
	l.n2.Lose(l.a.Rank(1))
	l.Stopped(l.a)
	l.want(t, model.TaskQueued, model.ReasonLost)
}

// Preparing: a gang placed on parts of nodes has all its GPUs, or is not placed.
func TestPlacementsAreWhole(t *testing.T) {
	l := placed(t, 3)
	key := model.TaskKey{Job: l.Submit(4, onTwoNodes)}
	b := l.Placement(key)
	if b != nil {
		t.Fatalf("placed 2+2 with one GPU left on n1: %+v", b)
	}
	wantOwners(t, l.Cluster, "n2", model.OwnerNone, 4)
}
