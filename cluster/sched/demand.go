package sched

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Demand is what a waiting task needs on each of its nodes, and the free GPUs of the cluster. A task that
// accepts fewer GPUs than it asks for needs the fewest that it accepts.
type Demand struct {
	pool *pool
	want want
}

// DemandOf returns the demand of a task.
func DemandOf(s *state.State, key model.TaskKey) *Demand {
	all := wantOf(s, &admission.TicketOf(s, key).Job.Spec, key)
	return &Demand{newPool(s), all.few()}
}

// MayUse reports whether the task may use a GPU of a node, free or not.
func (d *Demand) MayUse(node model.NodeID, g *model.GPU) bool {
	w := &d.want
	return w.sites.has(node) && g.Usable() && w.suits(g.Model, g.MemoryMB) && !w.shuns(g.ID)
}

// Short returns how many of the GPUs that the task needs on a node are missing there; 0 for a task with GPUs on
// any number of nodes.
func (d *Demand) Short(node model.NodeID) uint32 {
	w := &d.want
	if w.nodes == 0 && !d.pool.oneHolds(w) {
		return 0
	}
	return w.need - min(d.pool.count(&host{id: node}, w), w.need)
}

// Lack is the nodes that would have to be added for a task to start.
type Lack struct {
	Nodes    uint32
	GPUs     uint32 // on each
	Model    string // of those GPUs; empty: any
	MemoryMB uint32 // of each of them, at least
}

// Lack returns the nodes that the task lacks. With spread, the nodes that a task of several nodes finds now are
// subtracted. Without spread, GPUs are not what is lacking, and Lack returns one node.
func (d *Demand) Lack(spread bool) Lack {
	w, p := &d.want, d.pool
	out := Lack{Nodes: 1, GPUs: w.need, Model: w.model, MemoryMB: w.memory}
	if w.nodes > 1 && spread {
		out.Nodes = w.nodes
		for out.Nodes > 1 {
			if _, fits := p.snug(w, w.need, int(w.nodes-out.Nodes+1), nil); !fits {
				break
			}
			out.Nodes--
		}
	}
	if w.nodes == 0 && w.need > 1 && !p.oneHolds(w) {
		free, _ := p.suiting(w)
		out.GPUs = max(w.need-min(free, w.need), 1)
	}
	return out
}
