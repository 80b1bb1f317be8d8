package sched

import (
	"errors"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

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

// ForeseeInOrder makes a forecast as on a cluster that is too large to be played on.
func ForeseeInOrder(s *state.State, now model.Time) Forecast { return foresee(s, now, 0) }

// PlaysOn plays the scheduler on until nothing more is to come, and says what could not be played.
func PlaysOn(s *state.State, now model.Time, work int) error {
	if f := playOn(newPass(s, now), likely(s), s.Queue.Len(), work); f.over != nil && !errors.Is(f.over, errNothing) {
		return f.over
	}
	return nil
}

// LossOf is what an attempt has done since a checkpoint.
var LossOf = lossOf

// LeavesOut says how many waiting tasks a search leaves out, that it has to look at all of them after all, or else
// whether they would have changed its layout.
func LeavesOut(s *state.State, now model.Time) (n int, short, same bool) {
	lay := func(whole bool) (map[model.TaskKey][]split.Part, *split.Layout) {
		p := newPass(s, now)
		b := newBuilder(p)
		b.running()
		lines := b.waiting()
		if whole {
			lines.all()
		}
		l := split.Choose(b.problem(lines))
		at := map[model.TaskKey][]split.Part{}
		for i, c := range b.all {
			if l.Short {
				break
			}
			at[c.key.Task] = l.Places[i]
		}
		return at, &l
	}
	all, with := lay(true)
	some, without := lay(false)
	n = len(all) - len(some)
	same = slices.Equal(with.Until, without.Until)
	for key, at := range all { // order-free: a comparison
		same = same && slices.Equal(at, some[key])
	}
	return n, without.Short, same
}
