package search

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/preemption"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Meant returns how many GPUs of which nodes an outlook keeps for which tasks.
func (o *Outlook) Meant() map[model.TaskKey]map[model.NodeID]uint32 {
	out := map[model.TaskKey]map[model.NodeID]uint32{}
	for _, v := range o.intended {
		out[v.task] = map[model.NodeID]uint32{}
		for _, on := range v.at {
			out[v.task][on.Node] += on.N
		}
	}
	return out
}

// Bars reports whether an outlook keeps a node for a gang.
func (o *Outlook) Bars(id model.NodeID) bool { return o.guard.Barred[id] > 0 }

// Strict reports whether a task has waited for longer than its bound, so that jobs that may be suspended do not start
// on nodes that are kept for a gang.
func (o *Outlook) Strict() bool { return o.strict }

// LeftOut returns how many waiting tasks a search of a pass leaves out. The result short reports whether the search has
// to look at all tasks after all, and same whether its layout is the one with all tasks.
func LeftOut(s *state.State, now model.Time) (n int, short, same bool) {
	all, with := layoutOf(s, now, true)
	some, without := layoutOf(s, now, false)
	same = slices.Equal(with.Until, without.Until)
	for key, at := range all { // order-free: a comparison
		same = same && slices.Equal(at, some[key])
	}
	return len(all) - len(some), without.Short, same
}

// layoutOf returns the layout of a search and the place of each of its tasks, with or without the tasks that are left
// out.
func layoutOf(s *state.State, now model.Time, whole bool) (map[model.TaskKey][]split.Part, *split.Layout) {
	p := pass.New(s, now)
	b := newBuilder(p)
	b.running(preemption.New(p))
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
