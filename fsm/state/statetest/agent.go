package statetest

import (
	"fmt"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Agent is a node with the commands of its agent.
type Agent struct {
	ID   model.NodeID
	Self command.Register // the registration, in addition to folders, reports and cleaned slots

	c *Cluster
}

// Node registers a new node with healthy, idle GPUs, named "<id>-0" and so on.
func (c *Cluster) Node(id model.NodeID, gpus int) *Agent {
	c.tb.Helper()
	n := &Agent{ID: id, c: c, Self: command.Register{
		Node: id, Machine: "machine-" + string(id), Boot: "boot-1", Lineage: "lineage-1", Session: "session-1",
		Hostname: string(id), Address: fmt.Sprintf("10.0.1.%d:10002", 1+c.State.Nodes.Len()%250), Version: "test", CPUs: 64, MemoryMB: 1 << 20,
	}}
	for i := range gpus {
		n.Self.Devices = append(n.Self.Devices, model.Device{
			ID: model.GPUID(fmt.Sprintf("%s-%d", id, i)), Index: uint32(i), Model: "H200", MemoryMB: 141 << 10,
			Health: model.HealthHealthy, Idle: true,
		})
	}
	n.Register()
	return n
}

// Body returns a registration of the node in its current state: with a folder of every rank that it was given
// and that has not ended, and with the devices of free slots idle.
func (n *Agent) Body(changes ...func(*command.Register)) *command.Register {
	b := n.Self
	b.Follows = n.Epoch()
	b.Devices = slices.Clone(b.Devices)
	s := &n.c.State
	for i := range b.Devices {
		slot, _ := s.Slots.Get(model.SlotKey{GPU: b.Devices[i].ID})
		b.Devices[i].Idle = slot.Owner == model.OwnerNone
	}
	for _, r := range s.Ranks.All() {
		if r.Node == n.ID && !r.Phase.Ended() && r.Phase > model.RankAssigned {
			b.Folders = append(b.Folders, model.Folder{
				Rank: r.Key, Incarnation: s.Settings().Incarnation, Running: r.Phase == model.RankRunning,
			})
		}
	}
	for _, change := range changes {
		change(&b)
	}
	return &b
}

// Register registers the node, as changed, which must succeed; the node keeps
// the identity and devices that it registered with.
func (n *Agent) Register(changes ...func(*command.Register)) {
	n.c.tb.Helper()
	b := n.Body(changes...)
	n.c.Do(b)
	n.Self = *b
	n.Self.Folders, n.Self.Reports, n.Self.Cleaned = nil, nil, nil
}

// Reboot registers the node after a reboot: no rank runs there any longer.
func (n *Agent) Reboot(changes ...func(*command.Register)) {
	n.c.tb.Helper()
	n.Register(append([]func(*command.Register){func(b *command.Register) {
		b.Boot += "+"
		for i := range b.Folders {
			b.Folders[i].Running = false
		}
		for i := range b.Devices {
			b.Devices[i].Idle = true
		}
	}}, changes...)...)
}

// Epoch returns the node's present epoch.
func (n *Agent) Epoch() uint64 {
	row, _ := n.c.State.Nodes.Get(n.ID)
	return row.Epoch
}

// Seq returns the number of the node's newest renewal.
func (n *Agent) Seq() uint64 {
	lease, _ := n.c.State.Leases.Get(n.ID)
	return lease.Seq
}

// Renewal returns the node's next renewal.
func (n *Agent) Renewal() command.Renewal {
	return command.Renewal{Node: n.ID, Incarnation: n.c.State.Settings().Incarnation, Epoch: n.Epoch(), Seq: n.Seq() + 1}
}

// Renew applies the node's next renewal, which must be accepted.
func (n *Agent) Renew() {
	n.c.tb.Helper()
	r := n.c.Do(&command.Renew{Renewals: []command.Renewal{n.Renewal()}})
	if r.Verdicts[0] != model.CodeOK {
		n.c.tb.Fatalf("the renewal of node %s was refused: %s", n.ID, r.Verdicts[0])
	}
}

// Suspect makes the node suspect.
func (n *Agent) Suspect() {
	n.c.tb.Helper()
	n.c.Do(&command.Suspect{Node: n.ID, Epoch: n.Epoch(), Seq: n.Seq()})
}

// Lose gives up one rank on the node as a leader does after a long silence.
func (n *Agent) Lose(r model.RankKey) {
	n.c.tb.Helper()
	n.Suspect()
	n.c.Do(&command.RankLost{Rank: r, Epoch: n.Epoch(), Seq: n.Seq()})
}

// Report returns a report of the node's present agent.
func (n *Agent) Report(reports ...model.Progress) *command.Report {
	return &command.Report{
		Node: n.ID, Incarnation: n.c.State.Settings().Incarnation, Epoch: n.Epoch(), Reports: reports,
	}
}

// Clean reports every slot clean that the node has to verify as clean.
func (n *Agent) Clean() {
	n.c.tb.Helper()
	b := n.Report()
	for _, k := range n.c.State.Desired(n.ID).Clean {
		b.Cleaned = append(b.Cleaned, model.Cleaned{Slot: k.Slot, Rank: k.Rank, Allocation: k.Allocation})
	}
	n.c.Do(b)
}

// Inventory reports the node's devices, as changed.
func (n *Agent) Inventory(changes ...func(*model.Device)) {
	n.c.tb.Helper()
	b := n.Body()
	for i := range b.Devices {
		for _, change := range changes {
			change(&b.Devices[i])
		}
	}
	n.c.Do(&command.Inventory{
		Node: n.ID, Incarnation: n.c.State.Settings().Incarnation, Epoch: n.Epoch(), Devices: b.Devices,
	})
}
