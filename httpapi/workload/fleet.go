package workload

import (
	"cmp"
	"slices"
)

// Kind is GPUs of one model and memory.
type Kind struct {
	Model    string
	MemoryMB int64
	All      int64 // in the cluster, usable, whoever has them now
	Node     int64 // on the node that has most of them
}

// reckoned is what is reckoned with while no GPU is known.
func reckoned() Kind { return Kind{MemoryMB: 80 * 1024, All: 1024, Node: 8} }

// choice is how many GPUs of which kind, and how many samples each takes at once.
type choice struct {
	Kind

	gpus    int64
	samples float64
	memory  int64 // MiB of each
	fits    bool
}

// choose takes the fewest GPUs that hold a need, and of these the smallest. If nothing
// does, it takes all of the kind that has the most memory.
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

// better says that a is to be taken rather than b, where both hold a need, or none does.
func better(a, b *choice) bool {
	if !a.fits {
		return a.gpus*a.MemoryMB > b.gpus*b.MemoryMB
	}
	return cmp.Or(cmp.Compare(a.gpus, b.gpus), cmp.Compare(a.MemoryMB, b.MemoryMB), cmp.Compare(a.Model, b.Model)) < 0
}

// sizes are how many GPUs may be taken, ascending: powers of two on one node, all of a
// node, whole nodes, all there are.
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

// fill finds how many samples fit at once, at most what a step needs.
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
