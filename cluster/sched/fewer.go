package sched

import "github.com/berth-gpu/berth/cluster/sched/admission"

// fewer is the request of a task that accepts fewer GPUs than it asks for; zero: the task does not.
type fewer struct {
	asked uint32 // in all
	least uint32 // in all, if the task cannot have all
	whole bool   // fewer GPUs are fewer nodes, with as many on each
}

// few returns the want with the fewest GPUs that the task accepts.
func (w *want) few() want {
	f := *w
	f.least = 0
	switch {
	case w.least == 0:
	case w.whole:
		f.nodes = (w.least + w.need - 1) / w.need
	default:
		f.need = min(w.need, w.least)
	}
	return f
}

// findFewer returns the place with the most GPUs for a task that cannot have all GPUs that it asks for: fewer
// whole nodes, or fewer GPUs on its node.
func findFewer(p *pool, w *want) ([]part, bool) {
	few := w.few()
	if w.whole {
		open := uint32(0)
		for free := w.need; free <= p.most(w); free++ {
			for _, h := range p.with(free, w) {
				if p.count(h, w) >= w.need {
					open++
				}
			}
		}
		if n := min(open, w.nodes); n >= few.nodes {
			return nodesFor(p, w, w.need, int(n))
		}
		return nil, false
	}
	all, most := p.suiting(w)
	if w.nodes == 1 || p.oneHolds(w) {
		all = most
	}
	if most >= few.need && most >= min(all, w.need) {
		return nodesFor(p, w, min(most, w.need), 1)
	}
	if all < few.need {
		return nil, false
	}
	few.need = min(all, w.need)
	return p.spread(&few)
}

// gpus returns how many GPUs a want asks for in all.
func (w *want) gpus() uint32 { return w.need * max(w.nodes, 1) }

// withinLimits returns a want of no more GPUs than limits leave room for, but at least of the fewest that the task
// accepts. What the budget holds for the task itself counts as room.
func withinLimits(b *admission.Budget, w want, t *admission.Ticket) want {
	if w.least == 0 {
		return w
	}
	if b.Release(t) {
		defer b.Hold(t)
	}
	spec := &t.Job.Spec
	if b.Allows(spec.Project, spec.User, w.gpus(), 1) {
		return w
	}
	low, high := w.least, w.gpus() // low is assumed to be allowed, high is not
	for low+1 < high {
		if mid := (low + high) / 2; b.Allows(spec.Project, spec.User, mid, 1) {
			low = mid
		} else {
			high = mid
		}
	}
	few := w.few()
	if w.whole {
		w.nodes = max(low/w.need, few.nodes)
	} else {
		w.need = low
	}
	return w
}
