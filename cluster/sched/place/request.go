package place

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Request is what one task needs: how many GPUs, of which kind and where, and what it has to leave to others.
type Request struct {
	fewer

	PerNode  uint32 // GPUs on each node
	Nodes    uint32 // exactly so many; 0: as few as hold them
	Model    string // empty: any
	MemoryMB uint32
	Sites    *Sites        // nodes that the task may use; nil: all
	Task     model.TaskKey // the task, which may take what is claimed for it
	leftToOthers
	Strategy model.Strategy
	Avoid    model.RankKey // the task has just failed on the GPUs of this rank; zero: on none
	Shuns    model.NodeID  // the node that has just refused to start that rank: the task keeps off all its GPUs; empty: none has
	State    *state.State  // to look up these GPUs
	Bookings *BookingGuard // what bookings leave to the task; nil: everything
}

// leftToOthers is what a task leaves to others.
type leftToOthers struct {
	OnlyClaimed bool       // all GPUs but those that are claimed for it
	Until       model.Time // what is reserved for others before this time; 0: nothing
	Holder      *Holder    // in a forecast, what is booked for others; nil: nothing
	inBetween
}

// inBetween is what a pass between two searches takes into account of a task.
type inBetween struct {
	Ends   model.Time // when the task is expected to end
	Yields bool       // the task may be suspended later on
}

// fewer is the request of a task that accepts fewer GPUs than it asks for; zero: the task does not.
type fewer struct {
	asked      uint32 // in all
	Least      uint32 // in all, if the task cannot have all
	WholeNodes bool   // fewer GPUs are fewer nodes, with as many on each
}

// RequestOf returns what a task of a spec needs, without regard to bookings and to what is reserved for others.
func RequestOf(s *state.State, spec *model.Spec, key model.TaskKey) Request {
	w := Request{PerNode: spec.GPUs, Nodes: spec.Nodes, Model: spec.GPUModel, MemoryMB: spec.GPUMemoryMB, Task: key, State: s}
	w.Sites, w.Strategy = sitesOf(s, WhereOf(s, spec, key.IsTurn())), StrategyOf(s, spec)
	if w.Nodes > 1 {
		w.PerNode /= w.Nodes
	}
	if least := spec.Fewer(); least > 0 {
		w.asked, w.Least, w.WholeNodes = spec.GPUs, least, spec.Nodes > 1
	}
	if w.Avoid, w.Shuns = Avoided(s, key); w.Avoid.Job > 0 && !w.holds(w.sizes(w.Offers)) {
		w.Avoid, w.Shuns = model.RankKey{}, "" // no other GPUs could run the task
	}
	return w
}

// Avoided returns the rank with which a task has just failed; zero: it has not. If the node of that rank has refused to
// start it, the node is returned as well.
func Avoided(s *state.State, key model.TaskKey) (on model.RankKey, node model.NodeID) {
	task, _ := s.Tasks.Get(key)
	if task.Avoid == 0 {
		return on, ""
	}
	a, _ := s.Attempts.Get(key.Attempt(task.Avoid))
	on = a.Key.Rank(max(a.FirstRank, 1) - 1)
	if a.End == model.ReasonStartDeadline {
		r, _ := s.Ranks.Get(on)
		node = r.Node
	}
	return on, node
}

// Offers reports whether a GPU could be given to a task once the GPU is free.
func (w *Request) Offers(g *model.GPU) bool {
	node, _ := w.State.Nodes.Get(g.Node)
	return g.Usable() && node.Schedulable()
}

// Avoids reports whether the task has just failed on a GPU, or on the node of it.
func (w *Request) Avoids(id model.GPUID) bool {
	if w.Shuns != "" {
		g, _ := w.State.GPUs.Get(id)
		return g.Node == w.Shuns
	}
	return w.Avoid.Job > 0 && w.State.RankGPUs.Has(model.RankGPUKey{Rank: w.Avoid, GPU: id})
}

// Takes reports whether the task may take a free GPU.
func (w *Request) Takes(g *GPU) bool {
	return (g.Claimant == model.TaskKey{} && !w.OnlyClaimed || g.Claimant == w.Task) && w.Suits(g.Model, g.MemoryMB) && !w.Avoids(g.Slot.GPU)
}

// Suits reports whether the model and the memory of a GPU suit the task.
func (w *Request) Suits(name string, memory uint32) bool {
	return model.OfModel(w.Model, name) && memory >= w.MemoryMB
}

// Hosted reports whether the nodes that take work on s could hold the task if they were empty.
func (w *Request) Hosted(s *state.State) bool {
	there := *w
	there.State = s
	return there.holds(there.sizes(func(g *model.GPU) bool {
		node, _ := s.Nodes.Get(g.Node)
		return node.Schedulable() && g.Usable()
	}))
}

// Fewest returns the request with the fewest GPUs that the task accepts.
func (w *Request) Fewest() Request {
	f := *w
	f.Least = 0
	switch {
	case w.Least == 0:
	case w.WholeNodes:
		f.Nodes = (w.Least + w.PerNode - 1) / w.PerNode
	default:
		f.PerNode = min(w.PerNode, w.Least)
	}
	return f
}

// Total returns how many GPUs a request is for in all.
func (w *Request) Total() uint32 { return w.PerNode * max(w.Nodes, 1) }

// WithinLimits returns a request for no more GPUs than limits leave room for, but for at least the fewest that the task
// accepts. What the budget holds for the task itself counts as room.
func WithinLimits(b *admission.Budget, w Request, t *admission.Ticket) Request {
	if w.Least == 0 {
		return w
	}
	if b.Release(t) {
		defer b.Hold(t)
	}
	spec := &t.Job.Spec
	if b.Allows(spec.Project, spec.User, w.Total(), 1) {
		return w
	}
	low, high := w.Least, w.Total() // low is assumed to be allowed, high is not
	for low+1 < high {
		if mid := (low + high) / 2; b.Allows(spec.Project, spec.User, mid, 1) {
			low = mid
		} else {
			high = mid
		}
	}
	few := w.Fewest()
	if w.WholeNodes {
		w.Nodes = max(low/w.PerNode, few.Nodes)
	} else {
		w.PerNode = low
	}
	return w
}
