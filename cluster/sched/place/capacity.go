package place

import (
	"iter"
	"maps"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Capacity is what is free during a pass: nodes in buckets by their number of free GPUs. A bucket is read from the
// state's index when the pass first looks into it, and a node's GPUs when the pass first considers the node.
type Capacity struct {
	state      *state.State
	buckets    []bucket                  // by GPUs that any task may take
	claimHosts map[model.NodeID]*Host    // nodes that keep GPUs for a task
	Claimed    map[model.TaskKey][]*Host // the same by task, in order of id
	hosts      map[model.NodeID]*Host    // all of them; nil: not looked up yet
	Reserved   ReservedGPUs              // what is kept for tasks that found none
	Given      []Release                 // what the pass has given away, until it is expected to be free again
	Booked     *ExpectedBookings         // in a forecast; nil: nothing
	holds      map[Request]bool          // whether a node has so many GPUs, free or not
	Loads      Loads                     // how busy nodes are, as far as that counts
	Guard      *NodeGuard                // what an earlier search keeps for others; nil: nothing
	turns                                // what the pass has given to nodes
}

type bucket struct {
	read  bool
	hosts []*Host // in order of id
}

// Host is a node with what is free on it.
type Host struct {
	ID     model.NodeID
	epoch  uint64
	free   uint32 // that any task may take
	loaded bool
	idle   bool  // nothing is there
	GPUs   []GPU // free and usable, in order of place
}

// GPU is a GPU that is free and usable.
type GPU struct {
	Slot     model.SlotKey
	Model    string
	MemoryMB uint32
	numa     int32
	link     string
	Claimant model.TaskKey // the task for which it is claimed; zero: none
}

// NewCapacity returns what is free on s.
func NewCapacity(s *state.State) *Capacity {
	p := &Capacity{
		state: s, claimHosts: map[model.NodeID]*Host{}, Claimed: map[model.TaskKey][]*Host{},
		holds: map[Request]bool{}, Reserved: ReservedGPUs{}, turns: newTurns(),
	}
	for k := range s.ByFree.All() {
		p.buckets = make([]bucket, k.Free+1)
		break
	}
	for k := range s.ClaimedFor.All() {
		claim, _ := s.Claims.Get(k.Slot)
		h := p.claimHost(claim.Node)
		if !slices.Contains(p.Claimed[k.Task], h) {
			p.Claimed[k.Task] = append(p.Claimed[k.Task], h)
		}
	}
	return p
}

func (p *Capacity) claimHost(id model.NodeID) *Host {
	h := p.claimHosts[id]
	if h == nil {
		use, _ := p.state.NodeUse.Get(id)
		h = &Host{ID: id, free: use.Free}
		p.claimHosts[id] = h
	}
	return h
}

// Host returns a node that had free GPUs when the pass began; nil: it had none.
func (p *Capacity) Host(id model.NodeID) *Host {
	if p.hosts == nil {
		p.hosts = maps.Clone(p.claimHosts)
		for free := len(p.buckets) - 1; free > 0; free-- {
			for _, h := range p.bucket(uint32(free)) {
				p.hosts[h.ID] = h
			}
		}
	}
	return p.hosts[id]
}

// PartsAt returns a place as parts of nodes, and reports whether each of these had free GPUs when the pass began.
func (p *Capacity) PartsAt(at []Share) (parts []Part, open bool) {
	for _, v := range at {
		h := p.Host(v.Node)
		if h == nil {
			return nil, false
		}
		parts = append(parts, Part{h, v.N})
	}
	return parts, true
}

// Empty reports whether nothing is left for any task. Free GPUs of nodes that take no work count as left, so the
// result may become true late, or not at all.
func (p *Capacity) Empty() bool {
	for n := len(p.buckets) - 1; n > 0 && len(p.bucket(uint32(n))) == 0; n-- {
		p.buckets = p.buckets[:n]
	}
	return len(p.buckets) <= 1 && len(p.Claimed) == 0
}

// MostFree returns the greatest number of free GPUs that a node can have for a task.
func (p *Capacity) MostFree(w *Request) uint32 {
	most := uint32(max(len(p.buckets), 1) - 1)
	for _, h := range p.Claimed[w.Task] {
		most = max(most, p.room(h, w))
	}
	return most
}

// bucket lists the nodes with exactly so many GPUs that any task may take.
func (p *Capacity) bucket(free uint32) []*Host {
	if int(free) >= len(p.buckets) {
		return nil
	}
	b := &p.buckets[free]
	if !b.read {
		b.read = true
		for k := range p.state.ByFree.From(state.FreeKey{Free: free}) {
			if k.Free != free {
				break
			}
			h := p.claimHosts[k.Node]
			if h == nil {
				h = &Host{ID: k.Node, free: free, idle: k.Whole}
			}
			b.hosts = append(b.hosts, h)
		}
		slices.SortFunc(b.hosts, compareHosts)
	}
	return b.hosts
}

// IdleNodes yields the nodes that have free GPUs and run nothing, those with the most free GPUs first.
func (p *Capacity) IdleNodes() iter.Seq[model.NodeID] {
	return func(yield func(model.NodeID) bool) {
		for free := len(p.buckets) - 1; free > 0; free-- {
			for _, h := range p.bucket(uint32(free)) {
				if h.idle && !yield(h.ID) {
					return
				}
			}
		}
	}
}

// NodesWith lists the nodes on which a task has so many GPUs to take from, in order of id.
func (p *Capacity) NodesWith(free uint32, w *Request) []*Host {
	mine := p.Claimed[w.Task]
	if len(mine) == 0 {
		return p.bucket(free)
	}
	hosts := slices.Clone(p.bucket(free))
	hosts = slices.DeleteFunc(hosts, func(h *Host) bool { return slices.Contains(mine, h) })
	for _, h := range mine {
		if p.room(h, w) == free {
			hosts = append(hosts, h)
		}
	}
	slices.SortFunc(hosts, compareHosts)
	return hosts
}

func compareHosts(a, b *Host) int { return a.ID.Compare(b.ID) }

// room returns how many GPUs of a node a task may take, of any kind.
func (p *Capacity) room(h *Host, w *Request) uint32 {
	if !slices.Contains(p.Claimed[w.Task], h) {
		return h.free
	}
	p.Load(h)
	n := h.free
	for i := range h.GPUs {
		if h.GPUs[i].Claimant == w.Task {
			n++
		}
	}
	return n
}

// Count returns how many GPUs of a node suit.
func (p *Capacity) Count(h *Host, w *Request) (n uint32) {
	if !w.Sites.Has(h.ID) {
		return 0
	}
	p.Load(h)
	for i := range h.GPUs {
		if w.Takes(&h.GPUs[i]) {
			n++
		}
	}
	if n = p.Guard.Leaves(h.ID, w, w.Bookings.count(h, w, n)); w.Until > 0 && len(p.Reserved) > 0 {
		n -= min(n, p.Reserved.Withheld(h.ID, 0, w.Until))
	}
	n -= min(n, p.Booked.Withheld(h.ID, 0, w.Holder))
	return n
}

// Load looks up the GPUs of a node that are free and usable; a node that takes no
// work has none.
func (p *Capacity) Load(h *Host) {
	if h.loaded {
		return
	}
	h.loaded = true
	node, _ := p.state.Nodes.Get(h.ID)
	if !node.Schedulable() {
		return
	}
	h.epoch = node.Epoch
	h.GPUs = make([]GPU, 0, h.free)
	claims := p.claimHosts[h.ID] != nil
	for k := range p.state.NodeGPUs.From(model.AddressKey{Node: h.ID}) {
		if k.Node != h.ID {
			break
		}
		key := model.SlotKey{GPU: k.GPU}
		slot, found := p.state.Slots.Get(key)
		g, _ := p.state.GPUs.Get(k.GPU)
		if !found || slot.Owner != model.OwnerNone || !g.Usable() {
			continue
		}
		free := GPU{Slot: key, Model: g.Model, MemoryMB: g.MemoryMB, numa: g.NUMA, link: g.Link}
		if claims {
			claim, _ := p.state.Claims.Get(key)
			free.Claimant = claim.Beneficiary
		}
		h.GPUs = append(h.GPUs, free)
	}
}

// take gives n GPUs that suit to a task.
func (p *Capacity) take(h *Host, w *Request, n uint32) command.Placement {
	at := command.Placement{Node: h.ID, Epoch: h.epoch}
	was := h.free
	h.idle = false
	chosen := choose(w.Bookings.candidates(h, w), w, int(n))
	if w.Until > 0 {
		p.back(h.ID, w.Until, chosen)
	}
	for _, g := range chosen {
		at.Slots = append(at.Slots, g.Slot)
		if g.Claimant == (model.TaskKey{}) {
			h.free--
		}
	}
	h.GPUs = slices.DeleteFunc(h.GPUs, func(g GPU) bool { return slices.Contains(at.Slots, g.Slot) })
	p.move(h, was)
	p.give(h.ID, len(at.Slots))
	return at
}

// back notes when GPUs that are given away are expected to be free again.
func (p *Capacity) back(id model.NodeID, at model.Time, gpus []GPU) {
	r := Release{at, id, slices.Clone(gpus)}
	for i := range r.GPUs {
		r.GPUs[i].Claimant = model.TaskKey{}
	}
	p.Given = append(p.Given, r)
	if d := p.Reserved[id]; d != nil {
		d.AddRelease(at, r.GPUs)
	}
}

// ReleaseClaims frees what is still kept for a task that was placed.
func (p *Capacity) ReleaseClaims(task model.TaskKey) {
	for _, h := range p.Claimed[task] {
		p.Load(h)
		was := h.free
		for i := range h.GPUs {
			if h.GPUs[i].Claimant == task {
				h.GPUs[i].Claimant = model.TaskKey{}
				h.free++
			}
		}
		for len(p.buckets) <= int(h.free) {
			p.buckets = append(p.buckets, bucket{read: true}) // no node had as many
		}
		p.move(h, was)
	}
	delete(p.Claimed, task)
}

// move puts a node into the bucket of the GPUs that it has left.
func (p *Capacity) move(h *Host, was uint32) {
	if h.free == was {
		return
	}
	p.bucket(was)
	from := &p.buckets[was]
	if i, found := slices.BinarySearchFunc(from.hosts, h, compareHosts); found {
		from.hosts = slices.Delete(from.hosts, i, i+1)
	}
	p.bucket(h.free) // read first: the index has the node elsewhere
	to := &p.buckets[h.free]
	if i, found := slices.BinarySearchFunc(to.hosts, h, compareHosts); !found && h.free > 0 {
		to.hosts = slices.Insert(to.hosts, i, h)
	}
}

// Part is n GPUs of a node.
type Part struct {
	Host *Host
	N    uint32
}

// Release is GPUs of one node that are expected to be free from an instant on.
type Release struct {
	At   model.Time
	Node model.NodeID
	GPUs []GPU
}
