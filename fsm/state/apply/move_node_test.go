package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// An id belongs to the machine that had it first, and so does a GPU.
func TestIdentity(t *testing.T) {
	l := running(t, 4)
	before := l.n1.Epoch()
	for name, change := range map[string]func(*command.Register){
		"another machine": func(b *command.Register) { b.Machine, b.Boot = "machine-x", "boot-x" },
		"another's GPU":   func(b *command.Register) { b.Devices[0].ID = "n2-0" },
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, l.Try(l.n1.Body(change)), model.CodeIdentity)
			l.want(t, model.TaskRunning, model.ReasonNone)
			if l.n1.Epoch() != before {
				t.Error("the first holder lost its epoch")
			}
		})
	}
	b := l.n1.Body()
	b.Devices[0].ID = "n2-0"
	wantCode(t, l.Try(&command.Inventory{Node: "n1", Incarnation: statetest.Incarnation(1), Epoch: before, Devices: b.Devices}),
		model.CodeIdentity)
}

// An agent that restarts gets another epoch and keeps its ranks; its former self
// is not listened to any more.
func TestRegisteringAgain(t *testing.T) {
	l := running(t, 4)
	old, renewal := l.n1.Report(exited(l.a.Rank(0), failing(0))), l.n1.Renewal()
	l.n1.Register(func(b *command.Register) { b.Session = "session-2" })
	wantCode(t, l.Try(old), model.CodeStaleEpoch)
	if r := l.Try(&command.Renew{Renewals: []command.Renewal{
		renewal, l.n1.Renewal(),
		l.n1.Renewal(),
	}}); r.Verdicts[0] != model.CodeStaleEpoch ||
		r.Verdicts[1] != model.CodeOK || r.Verdicts[2] != model.CodeStaleSeq {
		t.Errorf("the verdicts are %v", r.Verdicts)
	}
	l.want(t, model.TaskRunning, model.ReasonNone)
}

// A node that was retired and comes back gets an epoch that it never had, so that
// an agent of its first life cannot speak for the second.
func TestEpochsOutliveTheNode(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 1)
	old := n.Renewal()
	c.Do(&command.RetireNode{Node: "n1"})
	wantCode(t, c.Try(&command.RetireNode{Node: "n1"}), model.CodeNotFound)
	n = c.Node("n1", 1)
	if n.Epoch() <= old.Epoch {
		t.Errorf("the node came back with epoch %d, it had %d", n.Epoch(), old.Epoch)
	}
	if r := c.Try(&command.Renew{Renewals: []command.Renewal{old}}); r.Verdicts[0] != model.CodeStaleEpoch {
		t.Errorf("a renewal of the first life is answered %s", r.Verdicts[0])
	}
}

// A node is retired when it is empty, or dead.
func TestRetireNode(t *testing.T) {
	l := running(t, 4)
	retire := &command.RetireNode{Node: "n1"}
	wantCode(t, l.Try(retire), model.CodeConflict)
	l.Exit(l.a, 0)
	wantCode(t, l.Try(retire), model.CodeConflict)
	wantCode(t, l.Try(&command.ConfirmDead{Node: "n1", Epoch: l.n1.Epoch()}), model.CodeConflict)
	l.n1.Suspect()
	wantCode(t, l.Try(&command.ConfirmDead{Node: "n1", Epoch: 99}), model.CodeConflict)
	l.Do(&command.ConfirmDead{Node: "n1", Epoch: l.n1.Epoch()})
	joinToken(l.Cluster, 1, model.RoleAgent, "n1")
	l.Do(joining(l.Cluster, model.RoleAgent, "n1", 1, 1))
	l.Do(retire)
	if row, _ := l.State.Certificates.Get(membership.Member{Role: model.RoleAgent, Name: "n1"}); !row.Refuses(l.Now) {
		t.Errorf("the certificate of the retired node counts: %+v", row)
	}
	joinToken(l.Cluster, 2, model.RoleAgent, "")
	l.Wait(2 * time.Second)
	l.Do(joining(l.Cluster, model.RoleAgent, "n1", 2, 2)) // another machine with that name
	if l.State.NodeUse.Has("n1") || l.State.Leases.Has("n1") || l.State.GPUs.Len() != 4 {
		t.Error("something of the retired node remains")
	}
}

// A node takes no work while it is suspect, cordoned or draining; draining also
// sends back what runs there.
func TestNodesThatTakeNoWork(t *testing.T) {
	l := running(t, 4)
	l.Do(&command.SetNodeMode{Node: "n2", Mode: model.ModeCordoned})
	b := &command.Place{Attempt: model.AttemptKey{Job: l.Submit(1), N: 1}, Ranks: []command.Placement{
		{Node: "n2", Epoch: l.n2.Epoch(), Slots: []model.SlotKey{{GPU: "n2-0"}}},
	}}
	wantCode(t, l.Try(b), model.CodeUnavailable)
	l.Do(&command.SetNodeMode{Node: "n2", Mode: model.ModeOpen})
	l.n2.Suspect()
	wantCode(t, l.Try(b), model.CodeUnavailable)
	l.n2.Renew()
	l.n2.Inventory(func(d *model.Device) { d.Health = model.HealthQuarantined })
	wantCode(t, l.Try(b), model.CodeUnavailable)
	l.n2.Inventory(func(d *model.Device) { d.Idle = false })
	wantCode(t, l.Try(b), model.CodeUnavailable)
	l.n2.Inventory()
	b.Ranks[0].Epoch++
	wantCode(t, l.Try(b), model.CodeConflict)
	b.Ranks[0].Epoch--
	l.Do(b)
	l.Do(asks["drain"](l))
	if got := attempt(l.Cluster, l.a); got.Stop != model.ReasonDrain {
		t.Errorf("what runs on the drained node is stopped for %q", got.Stop)
	}
}

// A slot is freed by a confirmation of its own node that names the slot and its former owner.
func TestCleaning(t *testing.T) {
	l := running(t, 4)
	word := model.Cleaned{Slot: model.SlotKey{GPU: "n1-0"}, Rank: l.a.Rank(0)}
	say := func(n *statetest.Agent, w model.Cleaned) {
		b := n.Report()
		b.Cleaned = []model.Cleaned{w}
		l.Do(b)
	}
	say(l.n1, word)
	wantOwners(t, l.Cluster, "n1", model.OwnerAttempt, 4)
	l.Exit(l.a, 0)
	other := word
	other.Rank.N = 9
	say(l.n1, other)
	say(l.n2, word)
	l.n1.Inventory(func(d *model.Device) { d.Idle = true })
	l.n1.Register(func(b *command.Register) { b.Devices[0].Idle = true })
	wantOwners(t, l.Cluster, "n1", model.OwnerCleaning, 4)
	say(l.n1, word)
	wantOwners(t, l.Cluster, "n1", model.OwnerCleaning, 3)
	l.n1.Reboot(func(b *command.Register) { b.Devices[1].Idle = false })
	wantOwners(t, l.Cluster, "n1", model.OwnerCleaning, 1)
}

// After a restore nothing is placed, agents register again, and attempts that the state does not know keep
// their GPUs until an operator removes them.
func TestRestore(t *testing.T) {
	l := placed(t, 2)
	b := l.Placement(model.TaskKey{Job: l.Submit(1)})
	l.Do(&command.Restored{Incarnation: statetest.Incarnation(2)})
	wantCode(t, l.Try(b), model.CodeStandstill)
	wantCode(t, l.Try(&command.Report{Node: "n1", Incarnation: statetest.Incarnation(1), Epoch: l.n1.Epoch()}), model.CodeStaleIncarnation)
	unknown := model.RankKey{Job: 2, N: 1} // of a job that waits here, and ran in the past that was lost
	l.n1.Register()
	l.n2.Register(func(b *command.Register) {
		b.Folders = []model.Folder{{Rank: unknown, Incarnation: statetest.Incarnation(1), Running: true, GPUs: []model.GPUID{"n2-0"}}}
	})
	if s := slot(l.Cluster, "n2-0"); s.Owner != model.OwnerForeign || s.Rank != unknown {
		t.Fatalf("the slot is %+v", s)
	}
	l.Do(&command.Resume{})
	a := l.Place(2)
	if d := l.State.Desired("n1"); len(d.Ranks) != 2 || len(d.Ranks[1].GPUs) != 1 {
		t.Errorf("desired on n1 is %+v: the namesake's GPU is not the attempt's", d.Ranks)
	}
	l.Exit(a, 0)
	wantOwners(t, l.Cluster, "n2", model.OwnerForeign, 1)
	wantCode(t, l.Try(&command.KillForeign{Slot: model.SlotKey{GPU: "n2-1"}}), model.CodeNotFound)
	l.Do(&command.KillForeign{Slot: model.SlotKey{GPU: "n2-0"}})
	if d := l.State.Desired("n2"); len(d.Clean) != 1 || !d.Clean[0].Kill {
		t.Fatalf("desired is %+v", d)
	}
	l.n2.Clean()
	wantOwners(t, l.Cluster, "n2", model.OwnerNone, 4)
	if job := l.Submit(1); job < 1000 {
		t.Errorf("job %s may have been given out in the past that was lost", job)
	}
}
