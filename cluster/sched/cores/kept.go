package cores

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/reserve"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// kept is the room that a step keeps for the first task in order that finds none: on the nodes that are expected to
// have room for it first, from an instant on. Tasks after it start there if they are expected to end before, or leave
// it as much room as it needs. Without that, a stream of small jobs would keep a large one waiting without end.
type kept struct {
	task  model.TaskKey
	at    model.Time
	spare map[model.NodeID]model.Room // of each of these nodes, what the task leaves to others from then on
}

// leaves reports whether a task that ends as expected leaves what is kept of a node.
func (k *kept) leaves(h *host, w *request) bool {
	if k == nil {
		return true
	}
	spare, is := k.spare[h.id]
	return !is || w.ends <= k.at || w.asked.Within(model.Room{}, spare)
}

// take counts what a task takes of a node in addition to what is kept there.
func (k *kept) take(h *host, w *request) {
	if k == nil || w.ends <= k.at {
		return
	}
	if spare, is := k.spare[h.id]; is {
		k.spare[h.id] = spare.Less(w.asked)
	}
}

// opening is when a node is expected to have room for a task.
type opening struct {
	host *host
	at   model.Time
}

// keep keeps room for a task that finds none, unless room is kept for another already. A task that no nodes could
// hold, even empty, gets none, nor does one that has to start before a maintenance and finds no room in time.
func (s *Step) keep(w *request, task model.TaskKey) {
	if s.kept != nil {
		return
	}
	var open []opening
	held := map[model.NodeID][]given{}
	for _, h := range s.hosts {
		if !w.asked.Within(model.Room{}, h.room) || !w.suits(h) {
			continue
		}
		holders := s.holders(h)
		at, ends := s.opens(h, w, holders), w.certain
		if ends != model.Never {
			ends = ends.Add(at.Sub(s.order.Now))
		}
		if ends <= h.closes {
			held[h.id] = holders
			open = append(open, opening{h, at})
		}
	}
	if len(open) < w.nodes {
		return
	}
	slices.SortStableFunc(open, func(a, b opening) int {
		return cmp.Or(cmp.Compare(a.at, b.at), w.compare(a.host, b.host))
	})
	open = open[:w.nodes]
	k := &kept{task: task, at: open[len(open)-1].at, spare: map[model.NodeID]model.Room{}}
	for _, o := range open {
		spare := o.host.room.Less(w.asked)
		for _, v := range held[o.host.id] {
			if v.ends > k.at {
				spare = spare.Less(v.room)
			}
		}
		k.spare[o.host.id] = spare
	}
	s.kept = k
}

// opens returns when a node is expected to have room for a task, as far as its holders are known, in order of their
// ends.
func (s *Step) opens(h *host, w *request, holders []given) model.Time {
	held, at := h.held, s.order.Now
	for _, v := range holders {
		if w.asked.Within(held, h.room) {
			break
		}
		held, at = held.Less(v.room), max(at, v.ends)
	}
	return at
}

// holders returns what is held of a node and until when, in the order of these times.
func (s *Step) holders(h *host) []given {
	out := slices.Clone(h.given)
	for k := range s.State.NodeRanks.From(state.NodeRankKey{Node: h.id}) {
		if k.Node != h.id {
			break
		}
		if r, _ := s.State.Ranks.Get(k.Rank); r.CPUs > 0 {
			out = append(out, given{r.Holds(), s.endOf(k.Rank.Attempt())})
		}
	}
	slices.SortStableFunc(out, func(a, b given) int { return cmp.Compare(a.ends, b.ends) })
	return out
}

// endOf returns when a live attempt is expected to end.
func (s *Step) endOf(key model.AttemptKey) model.Time {
	a, _ := s.State.Attempts.Get(key)
	now := s.order.Now
	if a.Stop != model.ReasonNone {
		return max(a.StopAt.Add(a.Frozen.CheckpointGrace+a.Frozen.Grace), now).Add(reserve.Soon)
	}
	task, _ := s.State.Tasks.Get(key.TaskKey())
	job, _ := s.State.Jobs.Get(key.Job)
	left := s.Timetable.Left(&job.Spec, admission.Executed(&task, &a, now))
	return reserve.ByDeadline(&job.Spec, now, now.Add(max(left, admission.LeastRun)))
}
