package sched

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// want is what one rank asks of its GPUs.
type want struct {
	need   uint32
	model  string
	memory uint32
	who    model.TaskKey // may take what is kept for it
}

func (w *want) takes(g *gpu) bool {
	return (g.kept == model.TaskKey{} || g.kept == w.who) && w.suits(g.model, g.memory)
}

func (w *want) suits(name string, memory uint32) bool {
	return (w.model == "" || name == w.model) && memory >= w.memory
}

// pool is what is free during a pass. A node's GPUs are looked up when the node
// is first tried.
type pool struct {
	state *state.State
	free  uint32                 // GPUs that anybody may take
	nodes []*host                // in order of id
	kept  map[model.TaskKey]bool // tasks for which GPUs are kept
	width map[want]uint32        // most GPUs that suit on any one node, free or not
}

type host struct {
	id     model.NodeID
	epoch  uint64
	free   uint32 // that anybody may take
	kept   uint32
	loaded bool
	gpus   []gpu // free and usable, in order of place
}

type gpu struct {
	slot   model.SlotKey
	model  string
	memory uint32
	kept   model.TaskKey
}

func newPool(s *state.State) *pool {
	p := &pool{state: s, kept: map[model.TaskKey]bool{}, width: map[want]uint32{}}
	for k := range s.ByFree.All() {
		p.add(k.Node)
	}
	for _, c := range s.Claims.All() {
		p.kept[c.Beneficiary] = true
		p.add(c.Node)
	}
	slices.SortFunc(p.nodes, func(a, b *host) int { return a.id.Compare(b.id) })
	p.nodes = slices.CompactFunc(p.nodes, func(a, b *host) bool { return a.id == b.id })
	for _, h := range p.nodes {
		p.free += h.free
	}
	return p
}

func (p *pool) add(id model.NodeID) {
	if n, found := p.state.Nodes.Get(id); found && n.Schedulable() {
		use, _ := p.state.NodeUse.Get(id)
		p.nodes = append(p.nodes, &host{id: id, epoch: n.Epoch, free: use.Free, kept: use.Claimed})
	}
}

func (p *pool) empty() bool { return p.free == 0 && len(p.kept) == 0 }

// keptFor says that some GPUs are kept for the task.
func (p *pool) keptFor(k model.TaskKey) bool { return p.kept[k] }

// load looks up the GPUs of a node that are free and usable.
func (p *pool) load(h *host) {
	if h.loaded {
		return
	}
	h.loaded = true
	for k := range p.state.NodeGPUs.From(model.AddressKey{Node: h.id}) {
		if k.Node != h.id {
			break
		}
		key := model.SlotKey{GPU: k.GPU}
		slot, found := p.state.Slots.Get(key)
		g, _ := p.state.GPUs.Get(k.GPU)
		if !found || slot.Owner != model.OwnerNone || !g.Health.Usable() {
			continue
		}
		claim, _ := p.state.Claims.Get(key)
		h.gpus = append(h.gpus, gpu{slot: key, model: g.Model, memory: g.MemoryMB, kept: claim.Beneficiary})
	}
}

// place takes GPUs for all ranks of a task, or none.
func (p *pool) place(spec *model.Spec, who model.TaskKey) ([]command.Placement, bool) {
	w := want{need: spec.GPUs, model: spec.GPUModel, memory: spec.GPUMemoryMB, who: who}
	if spec.Nodes > 1 {
		w.need = spec.GPUs / spec.Nodes
		return p.onMany(w, int(spec.Nodes))
	}
	if at, fits := p.onOne(w); fits {
		return []command.Placement{at}, true
	}
	if spec.Nodes == 1 || spec.GPUs <= p.widest(w) {
		return nil, false // it waits for one node
	}
	return p.spread(w)
}

// onOne takes what is wanted on the first node that has it.
func (p *pool) onOne(w want) (command.Placement, bool) {
	for _, h := range p.nodes {
		if p.room(h, &w) >= w.need && p.count(h, &w) >= w.need {
			return p.take(h, &w, w.need), true
		}
	}
	return command.Placement{}, false
}

// onMany takes what is wanted on each of the first so many nodes that have it.
func (p *pool) onMany(w want, nodes int) ([]command.Placement, bool) {
	var hosts []*host
	for _, h := range p.nodes {
		if len(hosts) < nodes && p.room(h, &w) >= w.need && p.count(h, &w) >= w.need {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) < nodes {
		return nil, false
	}
	ranks := make([]command.Placement, 0, nodes)
	for _, h := range hosts {
		ranks = append(ranks, p.take(h, &w, w.need))
	}
	return ranks, true
}

// spread takes what is wanted from as few nodes as have it together. It is for
// tasks that no single node could ever hold.
func (p *pool) spread(w want) ([]command.Placement, bool) {
	type part struct {
		host *host
		n    uint32
	}
	var parts []part
	for _, h := range p.nodes {
		if n := p.count(h, &w); n > 0 {
			parts = append(parts, part{h, n})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.n, a.n) })
	left, used := w.need, 0
	for used < len(parts) && left > 0 && used < model.MaxRanks {
		parts[used].n = min(parts[used].n, left)
		left -= parts[used].n
		used++
	}
	if left > 0 {
		return nil, false
	}
	ranks := make([]command.Placement, 0, used)
	for _, v := range parts[:used] {
		ranks = append(ranks, p.take(v.host, &w, v.n))
	}
	return ranks, true
}

// room is how many GPUs of a node can suit at most.
func (p *pool) room(h *host, w *want) uint32 {
	if p.kept[w.who] {
		return h.free + h.kept
	}
	return h.free
}

// count is how many GPUs of a node suit.
func (p *pool) count(h *host, w *want) (n uint32) {
	if p.room(h, w) == 0 {
		return 0
	}
	p.load(h)
	for i := range h.gpus {
		if w.takes(&h.gpus[i]) {
			n++
		}
	}
	return n
}

// take removes n GPUs that suit from the pool; what is kept for the taker goes
// first.
func (p *pool) take(h *host, w *want, n uint32) command.Placement {
	at := command.Placement{Node: h.id, Epoch: h.epoch}
	var taken []model.SlotKey
	for _, kept := range []bool{true, false} {
		h.gpus = slices.DeleteFunc(h.gpus, func(g gpu) bool {
			isKept := g.kept != model.TaskKey{}
			if isKept != kept || !w.takes(&g) || uint32(len(taken)) == n { //nolint:gosec // at most model.MaxGPUs
				return false
			}
			taken = append(taken, g.slot)
			if isKept {
				h.kept--
			} else {
				h.free--
				p.free--
			}
			return true
		})
	}
	at.Slots = taken
	return at
}

// widest is how many GPUs that suit the largest node has, whoever owns them.
func (p *pool) widest(w want) (most uint32) {
	w.need, w.who = 0, model.TaskKey{}
	if n, known := p.width[w]; known {
		return n
	}
	var n uint32
	var node model.NodeID
	for k := range p.state.NodeGPUs.All() {
		if k.Node != node {
			n, node = 0, k.Node
		}
		if g, _ := p.state.GPUs.Get(k.GPU); w.suits(g.Model, g.MemoryMB) && g.Health != model.HealthMissing {
			n++
			most = max(most, n)
		}
	}
	p.width[w] = most
	return most
}
