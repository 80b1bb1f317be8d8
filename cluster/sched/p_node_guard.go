package sched

import (
	"github.com/berth-gpu/berth/fsm/model"
)

// share is a number of GPUs of a node.
type share struct {
	node model.NodeID
	n    uint32
}

// guard keeps jobs off nodes, or off some of their GPUs.
type guard struct {
	held   map[model.NodeID]uint32     // GPUs that are kept for the tasks that should start there
	only   map[model.NodeID]bool       // only these nodes may be used; nil: all
	barred map[model.NodeID]model.Time // jobs that never yield and end later do not start there
	except model.TaskKey               // the task for which nodes are barred
}

// leaves returns how many of n GPUs of a node are left to a task.
func (g *guard) leaves(id model.NodeID, w *want, n uint32) uint32 {
	if g == nil {
		return n
	}
	at, barred := g.barred[id]
	if g.only != nil && !g.only[id] || barred && !w.yields && w.ends > at && w.who != g.except {
		return 0
	}
	return n - min(n, g.held[id])
}
