package state_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func gpu(l *life, id model.GPUID) model.GPU {
	g, _ := l.State.GPUs.Get(id)
	return g
}

// A GPU that fails under a job stops it; the job goes elsewhere and pays nothing.
func TestGPUFaultStops(t *testing.T) {
	for _, health := range []model.Health{model.HealthQuarantined, model.HealthDegraded} {
		l := running(t, 4, retries(1))
		l.n1.Inventory(func(d *model.Device) {
			if d.ID == "n1-2" {
				d.Health, d.Why = health, "Xid 79: it has fallen off the bus"
			}
		})
		a := attempt(l.Cluster, l.a)
		if health.Usable() {
			if a.Stop != model.ReasonNone {
				t.Errorf("a GPU that is %s stops its job for %s", health, a.Stop)
			}
			continue
		}
		if a.Stop != model.ReasonGPUFault {
			t.Fatalf("a GPU that is %s stops its job for %q", health, a.Stop)
		}
		l.Report(exited(l.a.Rank(0), model.Exit{Code: 1, Delivered: model.ReasonGPUFault, Ran: time.Hour}))
		l.want(t, model.TaskQueued, model.ReasonGPUFault)
		if got := task(l.Cluster, l.job); got.Retries != 0 || got.Lost != 1 || got.Avoid != 1 || got.NotBefore == 0 {
			t.Errorf("the task keeps %+v", got)
		}
	}
}

// A job that dies of a GPU's fault before anybody has asked it to stop is not
// charged either.
func TestDeathByGPUFault(t *testing.T) {
	l := running(t, 4)
	l.Report(exited(l.a.Rank(0), model.Exit{Code: 1, GPUFault: true, Ran: time.Minute}))
	l.want(t, model.TaskQueued, model.ReasonGPUFault)

	l = running(t, 4)
	l.n1.Inventory(func(d *model.Device) { d.Health, d.Why = model.HealthQuarantined, "Xid 95" })
	l.Report(exited(l.a.Rank(0), model.Exit{Signal: 6, Ran: time.Minute}))
	l.want(t, model.TaskQueued, model.ReasonGPUFault)
	if got := task(l.Cluster, l.job); got.Retries != 0 || got.Lost != 1 {
		t.Errorf("the task keeps %+v", got)
	}
}

// A job whose GPUs fail again and again ends at last.
func TestGPUFaultsAreBounded(t *testing.T) {
	l := running(t, 4)
	for n := range 17 {
		if n > 0 {
			l.n1.Clean()
			l.n2.Clean()
			l.Do(release(l.job))
			l.a = l.Place(l.job)
			l.Start(l.a)
		}
		l.Report(exited(l.a.Rank(0), model.Exit{Code: 1, GPUFault: true}))
	}
	l.want(t, model.TaskFailed, model.ReasonGPUFault)
}

// An operator takes a single GPU out: cordoned it keeps what runs on it, draining
// it does not; either way nothing new comes, and an inventory does not undo it.
func TestGPUMode(t *testing.T) {
	l := running(t, 4)
	wantCode(t, l.Try(&command.SetGPUMode{GPU: "none", Mode: model.ModeCordoned}), model.CodeNotFound)
	l.Do(&command.SetGPUMode{GPU: "n1-0", Mode: model.ModeCordoned, Note: "fan"})
	if a := attempt(l.Cluster, l.a); a.Stop != model.ReasonNone {
		t.Errorf("cordoning stops for %s", a.Stop)
	}
	l.Do(&command.SetGPUMode{GPU: "n1-0", Mode: model.ModeDraining, Note: "fan"})
	if a := attempt(l.Cluster, l.a); a.Stop != model.ReasonDrain {
		t.Errorf("draining stops for %q", a.Stop)
	}
	l.Report(exited(l.a.Rank(0), model.Exit{Signal: 15, Delivered: model.ReasonDrain}))
	l.n1.Clean()
	l.n1.Inventory()
	if g := gpu(l, "n1-0"); g.Mode != model.ModeDraining || g.ModeReason != "fan" || g.Usable() {
		t.Errorf("after an inventory the GPU is %+v", g)
	}
	use, _ := l.State.NodeUse.Get("n1")
	if use.Free != 3 || use.Unhealthy != 1 {
		t.Errorf("the node counts %+v", use)
	}
	l.Do(&command.SetGPUMode{GPU: "n1-0"})
	if use, _ := l.State.NodeUse.Get("n1"); use.Free != 4 {
		t.Errorf("the node counts %+v", use)
	}
}

// Which GPUs an attempt had stays on record after its end.
func TestGPUsStayOnRecord(t *testing.T) {
	l := running(t, 4, onTwoNodes)
	l.Exit(l.a, 0)
	l.n1.Clean()
	l.n2.Clean()
	var had []model.GPUID
	for k := range l.State.RankGPUs.All() {
		had = append(had, k.GPU)
	}
	if len(had) != 4 || had[0] != "n1-0" || had[2] != "n2-0" {
		t.Errorf("on record are %v", had)
	}
	l.Do(&command.Retire{Jobs: []model.JobID{l.job}, ArchivedTo: l.State.Index})
	if n := l.State.RankGPUs.Len(); n != 0 {
		t.Errorf("%d are on record of a job that is forgotten", n)
	}
}

// What an attempt did after its last checkpoint is lost with it, unless it completed.
func TestWasted(t *testing.T) {
	for _, v := range []struct {
		name  string
		saved time.Duration
		exit  model.Exit
		want  time.Duration
	}{
		{"no checkpoint", 0, model.Exit{Code: 1, Ran: time.Hour}, 4 * time.Hour},
		{"told while it ran", 45 * time.Minute, model.Exit{Code: 1, Ran: time.Hour}, time.Hour},
		{"told at its end", 0, model.Exit{Code: 1, Ran: time.Hour, Saved: time.Hour}, 0},
		{"completed", 0, model.Exit{Ran: time.Hour}, 0},
	} {
		t.Run(v.name, func(t *testing.T) {
			l := running(t, 4)
			if v.saved > 0 {
				l.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankRunning, Saved: v.saved})
				l.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankRunning, Saved: v.saved / 2})
			}
			l.Report(exited(l.a.Rank(0), v.exit))
			if got := task(l.Cluster, l.job).Wasted; got != v.want {
				t.Errorf("%s of GPU time are lost, want %s", got, v.want)
			}
		})
	}
}

// The true end of an attempt that was given up also corrects what it has wasted.
func TestWastedOfTheLost(t *testing.T) {
	l := running(t, 4)
	l.Now = l.Now.Add(time.Minute)
	l.n1.Lose(l.a.Rank(0))
	if got := task(l.Cluster, l.job).Wasted; got != 4*time.Minute {
		t.Errorf("%s are lost", got)
	}
	l.n1.Register()
	l.Report(exited(l.a.Rank(0), model.Exit{Ran: time.Minute}))
	l.want(t, model.TaskCompleted, model.ReasonExit)
	if got := task(l.Cluster, l.job).Wasted; got != 0 {
		t.Errorf("%s are lost of a job that completed", got)
	}
}
