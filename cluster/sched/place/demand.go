package place

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Demand is what a waiting task needs on each of its nodes, and the free GPUs of the cluster. A task that
// accepts fewer GPUs than it asks for needs the fewest that it accepts.
type Demand struct {
	free    *Capacity
	request Request
}

// DemandOf returns the demand of a task.
func DemandOf(s *state.State, key model.TaskKey) *Demand {
	all := RequestOf(s, &admission.TicketOf(s, key).Job.Spec, key)
	return &Demand{NewCapacity(s), all.Fewest()}
}

// MayUse reports whether the task may use a GPU of a node, free or not.
func (d *Demand) MayUse(node model.NodeID, g *model.GPU) bool {
	w := &d.request
	return w.Sites.Has(node) && g.Usable() && w.Suits(g.Model, g.MemoryMB) && !w.Avoids(g.ID)
}

// Short returns how many of the GPUs that the task needs on a node are missing there; 0 for a task with GPUs on
// any number of nodes.
func (d *Demand) Short(node model.NodeID) uint32 {
	w := &d.request
	if w.Nodes == 0 && !d.free.OneNodeHolds(w) {
		return 0
	}
	return w.PerNode - min(d.free.Count(&Host{ID: node}, w), w.PerNode)
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
	w, p := &d.request, d.free
	out := Lack{Nodes: 1, GPUs: w.PerNode, Model: w.Model, MemoryMB: w.MemoryMB}
	if w.Nodes > 1 && spread {
		out.Nodes = w.Nodes
		for out.Nodes > 1 {
			if _, fits := p.bestFit(w, w.PerNode, int(w.Nodes-out.Nodes+1), nil); !fits {
				break
			}
			out.Nodes--
		}
	}
	if w.Nodes == 0 && w.PerNode > 1 && !p.OneNodeHolds(w) {
		free, _ := p.suiting(w)
		out.GPUs = max(w.PerNode-min(free, w.PerNode), 1)
	}
	return out
}
