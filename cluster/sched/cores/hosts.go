package cores

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// host is a node that takes work, with its room for jobs without GPUs.
type host struct {
	id     model.NodeID
	epoch  uint64
	room   model.Room // in all
	before model.Room // held when the pass began
	held   model.Room // what this pass has given away included
	gpus   uint32
	free   uint32  // GPUs that are free and usable
	given  []given // by this pass

	closing model.Booking // the first maintenance to come
	closes  model.Time    // when it begins; [model.Never]: there is none
}

// given is room that a pass has given to a task.
type given struct {
	room model.Room
	ends model.Time // when the task is expected to end
}

// hostsOf returns the nodes that take work and have room for jobs without GPUs, in order of id.
func hostsOf(s *state.State, now model.Time) (hosts []*host) {
	set := s.Settings()
	closings := state.Closings(s.Bookings, now)
	for id, n := range s.Nodes.All() {
		use, _ := s.NodeUse.Get(id)
		if room := state.RoomOf(&set, &n, &use); n.Schedulable() && room != (model.Room{}) {
			h := &host{id: id, epoch: n.Epoch, room: room, before: use.Held, held: use.Held, gpus: use.All, free: use.Free, closes: model.Never}
			if b, closes := closings[id]; closes {
				h.closing, h.closes = b, b.Start
			}
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// request is what one task needs.
type request struct {
	asked    model.Room // on each node
	nodes    int
	sites    *place.Sites
	strategy model.Strategy
	ends     model.Time   // when the task is expected to end if it starts now
	certain  model.Time   // when it has certainly ended then; [model.Never] if that is unknown
	shuns    model.NodeID // the node that has just refused to start it, if others could run it; empty: none
}

func (s *Step) requestOf(t *admission.Ticket) *request {
	spec := &t.Job.Spec
	w := &request{
		asked: spec.Holds(), nodes: int(max(spec.Nodes, 1)), sites: s.Sites.Of(s.State, place.WhereOf(s.State, spec, false)),
		strategy: place.StrategyOf(s.State, spec), ends: s.endOfTicket(t),
		certain: t.SpecAsPlaced(s.State).CertainEnd(s.order.Now),
	}
	if _, w.shuns = place.Avoided(s.State, t.Task.Key); w.shuns != "" && len(s.open(w)) < w.nodes {
		w.shuns = ""
	}
	return w
}

// open returns the nodes that could hold a rank of a task if they were empty.
func (s *Step) open(w *request) (open []*host) {
	for _, h := range s.hosts {
		if w.asked.Within(model.Room{}, h.room) && w.suits(h) {
			open = append(open, h)
		}
	}
	return open
}

// suits reports whether a task may be on a node.
func (w *request) suits(h *host) bool { return w.sites.Has(h.id) && h.id != w.shuns }

// endOfTicket returns when a waiting task is expected to end if it starts now.
func (s *Step) endOfTicket(t *admission.Ticket) model.Time { return s.order.Now.Add(t.HoldTime()) }

// find returns the nodes on which a task starts, the first of the order for each of its ranks, with what is kept for
// another (nil: nothing); nil: it finds no room.
func (s *Step) find(w *request, k *kept) []*host {
	var fit []*host
	for _, h := range s.hosts {
		if w.asked.Within(h.held, h.room) && w.suits(h) && w.certain <= h.closes && k.leaves(h, w) {
			fit = append(fit, h)
		}
	}
	if len(fit) < w.nodes {
		return nil
	}
	slices.SortStableFunc(fit, w.compare)
	return fit[:w.nodes]
}

// foundBefore reports whether a task would have found room when the pass began.
func (s *Step) foundBefore(w *request) bool {
	fit := 0
	for _, h := range s.hosts {
		if w.asked.Within(h.before, h.room) && w.suits(h) && w.certain <= h.closes {
			fit++
		}
	}
	return fit >= w.nodes
}

// compare orders nodes: those without GPUs, those whose GPUs are all in use, then those with the fewest free GPUs.
// Of equal ones that with the fewest free cores goes first, or under the strategies spread and least_loaded that with
// the most.
func (w *request) compare(a, b *host) int {
	left := cmp.Compare(a.room.Less(a.held).CPUs, b.room.Less(b.held).CPUs)
	if w.strategy == model.StrategySpread || w.strategy == model.StrategyLeastLoaded {
		left = -left
	}
	return cmp.Or(model.CompareBools(a.gpus > 0, b.gpus > 0), cmp.Compare(a.free, b.free), left)
}

// take gives room of nodes to a task.
func (s *Step) take(w *request, hosts []*host) (ranks []command.Placement) {
	for _, h := range hosts {
		h.held.CPUs += w.asked.CPUs
		h.held.MemoryMB += w.asked.MemoryMB
		h.given = append(h.given, given{w.asked, w.ends})
		s.kept.take(h, w)
		ranks = append(ranks, command.Placement{Node: h.id, Epoch: h.epoch})
	}
	return ranks
}
