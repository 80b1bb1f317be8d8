package sched

import "github.com/berth-gpu/berth/fsm/model"

// Meant is how many GPUs of which nodes an outlook keeps for which tasks.
func (o *Outlook) Meant() map[model.TaskKey]map[model.NodeID]uint32 {
	out := map[model.TaskKey]map[model.NodeID]uint32{}
	for _, v := range o.meant {
		out[v.task] = map[model.NodeID]uint32{}
		for _, on := range v.at {
			out[v.task][on.node] += on.n
		}
	}
	return out
}

// Bars says that an outlook keeps a node for a gang.
func (o *Outlook) Bars(id model.NodeID) bool { return o.guard.barred[id] > 0 }

// Strict says that somebody has waited for so long that who may be suspended keeps off until then.
func (o *Outlook) Strict() bool { return o.strict }

// LossOf is what an attempt has done since a checkpoint.
var LossOf = lossOf
