package sched

import (
	"iter"
	"maps"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// pool is what is free during a pass: nodes in buckets by their number of free GPUs. A bucket is read from the
// state's index when the pass first looks into it, and a node's GPUs when the pass first considers the node.
type pool struct {
	state    *state.State
	buckets  []bucket                  // by GPUs that any task may take
	keepers  map[model.NodeID]*host    // nodes that keep GPUs for a task
	kept     map[model.TaskKey][]*host // the same by task, in order of id
	hosts    map[model.NodeID]*host    // all of them; nil: not looked up yet
	reserved keeps                     // what is kept for tasks that found none
	given    []release                 // what the pass has given away, until it is expected to be free again
	booked   *bookings                 // in a forecast; nil: nothing
	holds    map[want]bool             // whether a node has so many GPUs, free or not
	loads    Loads                     // how busy nodes are, as far as that counts
	guard    *guard                    // what an earlier search keeps for others; nil: nothing
	gifts                              // what the pass has given to nodes
}

type bucket struct {
	read  bool
	hosts []*host // in order of id
}

// host is a node with what is free on it.
type host struct {
	id     model.NodeID
	epoch  uint64
	free   uint32 // that any task may take
	loaded bool
	whole  bool  // nothing is there
	gpus   []gpu // free and usable, in order of place
}

type gpu struct {
	slot   model.SlotKey
	model  string
	memory uint32
	numa   int32
	link   string
	kept   model.TaskKey // for this task; zero: for any
}

func newPool(s *state.State) *pool {
	p := &pool{
		state: s, keepers: map[model.NodeID]*host{}, kept: map[model.TaskKey][]*host{},
		holds: map[want]bool{}, reserved: keeps{}, gifts: newGifts(),
	}
	for k := range s.ByFree.All() {
		p.buckets = make([]bucket, k.Free+1)
		break
	}
	for k := range s.ClaimedFor.All() {
		claim, _ := s.Claims.Get(k.Slot)
		h := p.keeper(claim.Node)
		if !slices.Contains(p.kept[k.Task], h) {
			p.kept[k.Task] = append(p.kept[k.Task], h)
		}
	}
	return p
}

func (p *pool) keeper(id model.NodeID) *host {
	h := p.keepers[id]
	if h == nil {
		use, _ := p.state.NodeUse.Get(id)
		h = &host{id: id, free: use.Free}
		p.keepers[id] = h
	}
	return h
}

// host returns a node that had free GPUs when the pass began; nil: it had none.
func (p *pool) host(id model.NodeID) *host {
	if p.hosts == nil {
		p.hosts = maps.Clone(p.keepers)
		for free := len(p.buckets) - 1; free > 0; free-- {
			for _, h := range p.bucket(uint32(free)) {
				p.hosts[h.id] = h
			}
		}
	}
	return p.hosts[id]
}

// partsAt returns a place as parts of nodes, and reports whether each of these had free GPUs when the pass began.
func (p *pool) partsAt(at []share) (parts []part, open bool) {
	for _, v := range at {
		h := p.host(v.node)
		if h == nil {
			return nil, false
		}
		parts = append(parts, part{h, v.n})
	}
	return parts, true
}

// empty reports whether nothing is left for any task. Free GPUs of nodes that take no work count as left, so the
// result may become true late, or not at all.
func (p *pool) empty() bool {
	for n := len(p.buckets) - 1; n > 0 && len(p.bucket(uint32(n))) == 0; n-- {
		p.buckets = p.buckets[:n]
	}
	return len(p.buckets) <= 1 && len(p.kept) == 0
}

// most returns the greatest number of free GPUs that a node can have for a task.
func (p *pool) most(w *want) uint32 {
	most := uint32(max(len(p.buckets), 1) - 1)
	for _, h := range p.kept[w.who] {
		most = max(most, p.room(h, w))
	}
	return most
}

// bucket lists the nodes with exactly so many GPUs that any task may take.
func (p *pool) bucket(free uint32) []*host {
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
			h := p.keepers[k.Node]
			if h == nil {
				h = &host{id: k.Node, free: free, whole: k.Whole}
			}
			b.hosts = append(b.hosts, h)
		}
		slices.SortFunc(b.hosts, compareHosts)
	}
	return b.hosts
}

// idle yields the nodes that have free GPUs and run nothing, those with the most free GPUs first.
func (p *pool) idle() iter.Seq[model.NodeID] {
	return func(yield func(model.NodeID) bool) {
		for free := len(p.buckets) - 1; free > 0; free-- {
			for _, h := range p.bucket(uint32(free)) {
				if h.whole && !yield(h.id) {
					return
				}
			}
		}
	}
}

// with lists the nodes on which a task has so many GPUs to take from, in order of id.
func (p *pool) with(free uint32, w *want) []*host {
	mine := p.kept[w.who]
	if len(mine) == 0 {
		return p.bucket(free)
	}
	hosts := slices.Clone(p.bucket(free))
	hosts = slices.DeleteFunc(hosts, func(h *host) bool { return slices.Contains(mine, h) })
	for _, h := range mine {
		if p.room(h, w) == free {
			hosts = append(hosts, h)
		}
	}
	slices.SortFunc(hosts, compareHosts)
	return hosts
}

func compareHosts(a, b *host) int { return a.id.Compare(b.id) }

// room returns how many GPUs of a node a task may take, of any kind.
func (p *pool) room(h *host, w *want) uint32 {
	if !slices.Contains(p.kept[w.who], h) {
		return h.free
	}
	p.load(h)
	n := h.free
	for i := range h.gpus {
		if h.gpus[i].kept == w.who {
			n++
		}
	}
	return n
}

// count returns how many GPUs of a node suit.
func (p *pool) count(h *host, w *want) (n uint32) {
	if !w.sites.has(h.id) {
		return 0
	}
	p.load(h)
	for i := range h.gpus {
		if w.takes(&h.gpus[i]) {
			n++
		}
	}
	if n = p.guard.leaves(h.id, w, w.keep.count(h, w, n)); w.until > 0 && len(p.reserved) > 0 {
		n -= min(n, p.reserved.held(h.id, 0, w.until))
	}
	n -= min(n, p.booked.held(h.id, 0, w.asks))
	return n
}

// load looks up the GPUs of a node that are free and usable; a node that takes no
// work has none.
func (p *pool) load(h *host) {
	if h.loaded {
		return
	}
	h.loaded = true
	node, _ := p.state.Nodes.Get(h.id)
	if !node.Schedulable() {
		return
	}
	h.epoch = node.Epoch
	h.gpus = make([]gpu, 0, h.free)
	claims := p.keepers[h.id] != nil
	for k := range p.state.NodeGPUs.From(model.AddressKey{Node: h.id}) {
		if k.Node != h.id {
			break
		}
		key := model.SlotKey{GPU: k.GPU}
		slot, found := p.state.Slots.Get(key)
		g, _ := p.state.GPUs.Get(k.GPU)
		if !found || slot.Owner != model.OwnerNone || !g.Usable() {
			continue
		}
		free := gpu{slot: key, model: g.Model, memory: g.MemoryMB, numa: g.NUMA, link: g.Link}
		if claims {
			claim, _ := p.state.Claims.Get(key)
			free.kept = claim.Beneficiary
		}
		h.gpus = append(h.gpus, free)
	}
}

// take removes n GPUs that suit from the pool.
func (p *pool) take(h *host, w *want, n uint32) command.Placement {
	at := command.Placement{Node: h.id, Epoch: h.epoch}
	was := h.free
	h.whole = false
	chosen := choose(w.keep.candidates(h, w), w, int(n))
	if w.until > 0 {
		p.back(h.id, w.until, chosen)
	}
	for _, g := range chosen {
		at.Slots = append(at.Slots, g.slot)
		if g.kept == (model.TaskKey{}) {
			h.free--
		}
	}
	h.gpus = slices.DeleteFunc(h.gpus, func(g gpu) bool { return slices.Contains(at.Slots, g.slot) })
	p.move(h, was)
	p.gives(h.id, len(at.Slots))
	return at
}

// back notes when GPUs that are given away are expected to be free again.
func (p *pool) back(id model.NodeID, at model.Time, gpus []gpu) {
	r := release{at, id, slices.Clone(gpus)}
	for i := range r.gpus {
		r.gpus[i].kept = model.TaskKey{}
	}
	p.given = append(p.given, r)
	if d := p.reserved[id]; d != nil {
		d.frees(at, r.gpus)
	}
}

// letGo frees what is still kept for a task that was placed.
func (p *pool) letGo(task model.TaskKey) {
	for _, h := range p.kept[task] {
		p.load(h)
		was := h.free
		for i := range h.gpus {
			if h.gpus[i].kept == task {
				h.gpus[i].kept = model.TaskKey{}
				h.free++
			}
		}
		for len(p.buckets) <= int(h.free) {
			p.buckets = append(p.buckets, bucket{read: true}) // no node had as many
		}
		p.move(h, was)
	}
	delete(p.kept, task)
}

// move puts a node into the bucket of the GPUs that it has left.
func (p *pool) move(h *host, was uint32) {
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

// part is n GPUs of a node.
type part struct {
	host *host
	n    uint32
}

// release is GPUs of one node that are expected to be free from an instant on.
type release struct {
	at   model.Time
	node model.NodeID
	gpus []gpu
}
