package workload

import (
	"cmp"
	"slices"
)

// Kind is GPUs of one model and memory.
type Kind struct {
	Model    string
	MemoryMB int64
	All      int64 // in the cluster, usable, free or not
	Node     int64 // on the node that has most of them
}

// reckoned returns the kind that is assumed while no GPU is known.
func reckoned() Kind { return Kind{MemoryMB: 80 * 1024, All: 1024, Node: 8} }

// choice is a number of GPUs of a kind, and how many samples each takes at once.
type choice struct {
	Kind

	gpus    int64
	samples float64
	memory  int64 // MiB of each
	fits    bool
}

// choose returns the fewest GPUs that hold a need, and of these the smallest. If no choice does, it
// returns all of the kind that has the most memory.
func choose(fleet []Kind, n *need, least int64) choice {
	var best choice
	for _, k := range fleet {
		c := choice{Kind: k}
		for _, g := range sizes(&k, least) {
			c.gpus = g
			if n.perGPU(float64(g), 1) <= float64(k.MemoryMB) {
				c.fits = true
				break
			}
		}
		if best.gpus == 0 || c.fits && !best.fits || c.fits == best.fits && better(&c, &best) {
			best = c
		}
	}
	best.fill(n)
	return best
}

// settle chooses the GPUs of the plan once all needs are known: the chosen ones, if they hold it,
// else the smallest that do. false: none do.
func (p *plan) settle(fleet []Kind) bool {
	ran := p.sources["gpu_count"] == fromHistory // independent of the formula
	told := p.sources["memory_mb"] != fromFormula && p.sources["memory_mb"] != fromDefault
	if p.gpus == p.chosen.gpus && !ran && !told {
		return p.chosen.fits
	}
	least := p.memory
	if !ran && !told {
		least = max(least, int64(p.needs.perGPU(float64(p.gpus), 1)))
	}
	holds := func(k *Kind) bool { return k.All >= p.gpus && k.MemoryMB >= least }
	if holds(&p.chosen.Kind) {
		return true
	}
	fleet = slices.DeleteFunc(slices.Clone(fleet), func(k Kind) bool { return !holds(&k) })
	if len(fleet) == 0 {
		p.say("The cluster has no %d GPUs of one model with %d MB each. It does not fit.", p.gpus, least)
		return false
	}
	p.chosen.Kind = slices.MinFunc(fleet, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.MemoryMB, b.MemoryMB), cmp.Compare(a.Model, b.Model))
	})
	p.say("%d GPUs with %d MB each are %s of %d MB.", p.gpus, least, p.chosen.Model, p.chosen.MemoryMB)
	return true
}

// better reports whether a is better than b, where both hold a need, or neither does.
func better(a, b *choice) bool {
	if !a.fits {
		return a.gpus*a.MemoryMB > b.gpus*b.MemoryMB
	}
	return cmp.Or(cmp.Compare(a.gpus, b.gpus), cmp.Compare(a.MemoryMB, b.MemoryMB), cmp.Compare(a.Model, b.Model)) < 0
}

// sizes returns the possible numbers of GPUs, ascending: powers of two on one node, all of a node,
// whole nodes, all there are.
func sizes(k *Kind, least int64) (out []int64) {
	least = min(max(least, 1), k.All)
	for g := int64(1); g < k.Node; g *= 2 {
		out = append(out, g)
	}
	for g := k.Node; g < k.All && len(out) < 4096; g += k.Node {
		out = append(out, g)
	}
	out = append(out, k.All, least)
	slices.Sort(out)
	out = slices.DeleteFunc(out, func(g int64) bool { return g < least })
	return slices.Compact(out)
}

// fill computes how many samples fit at once, at most what a step needs.
func (c *choice) fill(n *need) {
	g := float64(c.gpus)
	most := max(1, n.batch/g)
	c.samples = 1
	for s := 2.0; s <= most && n.each > 0 && n.perGPU(g, s) <= float64(c.MemoryMB); s *= 2 {
		c.samples = s
	}
	c.memory = int64(min(n.perGPU(g, c.samples), float64(c.MemoryMB)))
	c.memory = min((c.memory+255)/256*256, c.MemoryMB)
}
