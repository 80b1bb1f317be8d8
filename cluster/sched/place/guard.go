package place

import (
	"github.com/berth-gpu/berth/fsm/model"
)

// Share is a number of GPUs of a node.
type Share struct {
	Node model.NodeID
	N    uint32
}

// NodeGuard keeps jobs off nodes, or off some of their GPUs.
type NodeGuard struct {
	Held   map[model.NodeID]uint32     // GPUs that are kept for the tasks that should start there
	Only   map[model.NodeID]bool       // only these nodes may be used; nil: all
	Barred map[model.NodeID]model.Time // jobs that never yield and end later do not start there
	Except model.TaskKey               // the task for which nodes are barred
}

// Leaves returns how many of n GPUs of a node are left to a task.
func (g *NodeGuard) Leaves(id model.NodeID, w *Request, n uint32) uint32 {
	if g == nil {
		return n
	}
	at, barred := g.Barred[id]
	if g.Only != nil && !g.Only[id] || barred && !w.Yields && w.Ends > at && w.Task != g.Except {
		return 0
	}
	return n - min(n, g.Held[id])
}
