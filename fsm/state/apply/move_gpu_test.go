package apply_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
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

// A job that dies of a GPU's fault before its stop was requested is not charged either.
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
		{"parts of seconds", 0, model.Exit{Code: 1, Ran: 1900 * time.Millisecond}, 7600 * time.Millisecond},
		{"the longest", 0, model.Exit{Code: 1, Ran: model.MaxRan}, 4 * model.MaxRan},
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

// Measurements of GPUs are summed up over the ranks of an attempt, also when one that was given up reports
// its end after all.
func TestIdleTimeIsSummedUp(t *testing.T) {
	seen := func(l *life, watched, idle uint64) {
		t.Helper()
		a, _ := l.State.Attempts.Get(l.a)
		if a.Watched != watched || a.Idle != idle {
			t.Errorf("%d of %d GPU-seconds were idle, want %d of %d", a.Idle, a.Watched, idle, watched)
		}
	}
	l := running(t, 4)
	l.Report(exited(l.a.Rank(0), model.Exit{Ran: time.Minute, Watched: 200, Idle: 50}))
	seen(l, 200, 50)

	l = running(t, 4)
	l.n1.Lose(l.a.Rank(0))
	seen(l, 0, 0)
	l.n1.Register()
	l.Report(exited(l.a.Rank(0), model.Exit{Ran: time.Minute, Watched: 200, Idle: 50}))
	seen(l, 200, 50)

	c := statetest.New(t)
	c.Node("n1", 2)
	c.Node("n2", 2)
	both := c.Place(c.Submit(4, onTwoNodes))
	c.Start(both)
	for i := range uint32(2) {
		c.Report(exited(both.Rank(i), model.Exit{Ran: time.Minute, Watched: 100, Idle: 20 + uint64(i)}))
	}
	if a, _ := c.State.Attempts.Get(both); a.Ranks != 2 || a.Watched != 200 || a.Idle != 41 {
		t.Errorf("%d of %d GPU-seconds of %d ranks were idle, want 41 of 200", a.Idle, a.Watched, a.Ranks)
	}

	for _, wrong := range []model.Exit{{Watched: 1, Idle: 2}, {Watched: model.MaxWatched + 1}, {Ran: model.MaxRan + 1}, {Saved: -1}} {
		if _, err := command.New("x", l.n1.Report(exited(l.a.Rank(0), wrong))); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
}

// lose has the node's inventory say that GPUs of it are gone.
func (l *life) lose(ids ...model.GPUID) {
	l.n1.Inventory(func(d *model.Device) {
		if slices.Contains(ids, d.ID) {
			d.Health, d.Why, d.Gone = model.HealthQuarantined, "Xid 79: restart the host", true
		}
	})
}

func (l *life) mode() (model.NodeMode, string) {
	n, _ := l.State.Nodes.Get("n1")
	return n.Mode, n.ModeReason
}

func (l *life) wantMode(t *testing.T, what string, want model.NodeMode) {
	t.Helper()
	if mode, why := l.mode(); mode != want {
		t.Errorf("%s: the node is %s (%s), want %s", what, mode, why, want)
	}
}

// A node that loses two GPUs under one boot takes no new work until an operator says
// so; what runs on its other GPUs goes on.
func TestLostGPUsCordonTheNode(t *testing.T) {
	l := running(t, 1)
	l.lose("n1-2")
	l.wantMode(t, "one lost", model.ModeOpen)
	l.lose("n1-2", "n1-3")
	l.wantMode(t, "two lost", model.ModeCordoned)
	if _, why := l.mode(); !strings.Contains(why, "2 GPUs") || !strings.Contains(why, "n1-2, n1-3") {
		t.Errorf("why: %q", why)
	}
	if a := attempt(l.Cluster, l.a); a.Stop != model.ReasonNone {
		t.Errorf("what runs elsewhere on the node is stopped for %s", a.Stop)
	}
	l.Do(&command.SetNodeMode{Node: "n1", Mode: model.ModeOpen})
	l.lose("n1-2", "n1-3")
	l.wantMode(t, "an operator has opened it", model.ModeOpen)
	l.lose("n1-1", "n1-2", "n1-3")
	l.wantMode(t, "a third lost", model.ModeCordoned)
	l.n1.Reboot()
	l.wantMode(t, "after a restart", model.ModeCordoned)
}

// Losses count under one boot only, and an operator's stricter setting stays.
func TestLossesOfTwoBoots(t *testing.T) {
	l := running(t, 1)
	l.lose("n1-2")
	l.n1.Reboot()
	l.lose("n1-3")
	l.wantMode(t, "one lost under each of two boots", model.ModeOpen)
	l.Do(&command.SetNodeMode{Node: "n1", Mode: model.ModeDraining, Note: "mine"})
	l.lose("n1-2", "n1-3")
	if mode, why := l.mode(); mode != model.ModeDraining || why != "mine" {
		t.Errorf("the node is %s: %s", mode, why)
	}
}

// GPUs that a node no longer lists are lost, unless a registration reported it, when they may have been taken
// out, or something else is in their place.
func TestUnlistedGPUs(t *testing.T) {
	without := func(l *life, more ...model.Device) []model.Device {
		var list []model.Device
		for _, d := range l.n1.Self.Devices {
			if d.ID != "n1-2" && d.ID != "n1-3" {
				list = append(list, d)
			}
		}
		return append(list, more...)
	}
	tell := func(l *life, list []model.Device) {
		l.Do(&command.Inventory{Node: "n1", Incarnation: l.State.Settings().Incarnation, Epoch: l.n1.Epoch(), Devices: list})
	}
	l := running(t, 1)
	tell(l, without(l))
	l.wantMode(t, "unlisted", model.ModeCordoned)

	l = running(t, 1)
	l.n1.Reboot(func(b *command.Register) { b.Devices = without(l) })
	tell(l, without(l))
	l.wantMode(t, "taken out", model.ModeOpen)

	l = running(t, 1)
	l.n1.Inventory(func(d *model.Device) { d.PCI = "0000:" + string(d.ID) })
	var parts []model.Device
	for _, d := range l.n1.Self.Devices {
		if d.ID == "n1-2" || d.ID == "n1-3" {
			d.ID, d.PCI = "MIG-"+d.ID, "0000:"+string(d.ID)
			parts = append(parts, d)
		}
	}
	tell(l, without(l, parts...))
	l.wantMode(t, "divided", model.ModeOpen)
	tell(l, without(l))
	l.wantMode(t, "parts that are no more", model.ModeOpen)
}
