package sched

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// want is what one task asks of each of its GPUs.
type want struct {
	fewer

	need   uint32 // on each node
	nodes  uint32 // exactly so many; 0: as few as hold them
	model  string // empty: any
	memory uint32
	sites  *sites        // nodes that the task may use; nil: all
	who    model.TaskKey // the task, which may take what is claimed for it
	aside
	order model.Strategy
	avoid model.RankKey // the task has just failed on the GPUs of this rank; zero: on none
	state *state.State  // to look up these GPUs
	keep  *bookingGuard // what bookings leave to the task; nil: everything
}

// aside is what a task leaves to others.
type aside struct {
	kept  bool       // all GPUs but those that are claimed for it
	until model.Time // what is reserved for others before this time; 0: nothing
	asks  *asker     // in a forecast, what is booked for others; nil: nothing
	inTurn
}

// inTurn is what a pass between two searches takes into account of a task.
type inTurn struct {
	ends   model.Time // when the task is expected to end
	yields bool       // the task may be suspended later on
}

// fewer is the request of a task that accepts fewer GPUs than it asks for; zero: the task does not.
type fewer struct {
	asked uint32 // in all
	least uint32 // in all, if the task cannot have all
	whole bool   // fewer GPUs are fewer nodes, with as many on each
}

func wantOf(s *state.State, spec *model.Spec, who model.TaskKey) want {
	w := want{need: spec.GPUs, nodes: spec.Nodes, model: spec.GPUModel, memory: spec.GPUMemoryMB, who: who, state: s}
	w.sites, w.order = sitesOf(s, whereOf(s, spec, who.IsTurn())), strategyOf(s, spec)
	if w.nodes > 1 {
		w.need /= w.nodes
	}
	if least := spec.Fewer(); least > 0 {
		w.asked, w.least, w.whole = spec.GPUs, least, spec.Nodes > 1
	}
	if task, _ := s.Tasks.Get(who); task.Avoid > 0 {
		a, _ := s.Attempts.Get(who.Attempt(task.Avoid))
		w.avoid = a.Key.Rank(max(a.FirstRank, 1) - 1)
		if !w.holds(w.sizes(w.offers)) {
			w.avoid = model.RankKey{} // no other GPUs could run the task
		}
	}
	return w
}

// offers reports whether a GPU could be given to a task once the GPU is free.
func (w *want) offers(g *model.GPU) bool {
	node, _ := w.state.Nodes.Get(g.Node)
	return g.Usable() && node.Schedulable()
}

// shuns reports whether the task has just failed on a GPU.
func (w *want) shuns(id model.GPUID) bool {
	return w.avoid.Job > 0 && w.state.RankGPUs.Has(model.RankGPUKey{Rank: w.avoid, GPU: id})
}

func (w *want) takes(g *gpu) bool {
	return (g.kept == model.TaskKey{} && !w.kept || g.kept == w.who) && w.suits(g.model, g.memory) && !w.shuns(g.slot.GPU)
}

func (w *want) suits(name string, memory uint32) bool {
	return model.OfModel(w.model, name) && memory >= w.memory
}

// hosted reports whether the nodes that take work on s could hold the task if they were empty.
func (w *want) hosted(s *state.State) bool {
	there := *w
	there.state = s
	return there.holds(there.sizes(func(g *model.GPU) bool {
		node, _ := s.Nodes.Get(g.Node)
		return node.Schedulable() && g.Usable()
	}))
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
