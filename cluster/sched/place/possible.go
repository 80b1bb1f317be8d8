package place

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Possible reports whether a job could ever run on the nodes that the cluster has, no matter what is free, healthy
// or open there now. GPUs that are gone do not count. If the job could not run, why is what the cluster lacks. On
// a cluster without nodes every job is possible, and why is that the job waits for a node.
func Possible(s *state.State, spec *model.Spec) (ok bool, why string) {
	w := RequestOf(s, spec, model.TaskKey{})
	switch {
	case s.Nodes.Len() == 0:
		return true, "the cluster has no nodes yet: the job waits until one registers"
	case w.holds(w.sizes(listed)):
		return true, ""
	}
	soon := w
	soon.Sites = w.Sites.Soon()
	return soon.holds(soon.sizes(listed)), w.lacks()
}

// holds reports whether nodes with so many GPUs that suit could hold a job.
func (w *Request) holds(sizes iter.Seq[uint32]) bool {
	few := w.Fewest()
	w = &few
	var nodes, total uint32
	var all []uint32
	for n := range sizes {
		if n >= w.PerNode {
			if nodes++; nodes >= w.Nodes {
				return true
			}
		}
		all = append(all, n)
		if total += n; w.Nodes == 0 && total >= w.PerNode && len(all) <= model.MaxRanks {
			return true
		}
	}
	return w.Nodes == 0 && sum(largest(all)) >= uint64(w.PerNode)
}

// largest keeps the largest sizes, as many as a gang can have ranks.
func largest(sizes []uint32) []uint32 {
	slices.Sort(sizes)
	slices.Reverse(sizes)
	return sizes[:min(len(sizes), model.MaxRanks)]
}

func sum(sizes []uint32) (n uint64) {
	for _, v := range sizes {
		n += uint64(v)
	}
	return n
}

// largestOf returns the most memory that a GPU of the cluster has.
func largestOf(s *state.State) (mb uint32) {
	for _, g := range s.GPUs.All() {
		if listed(&g) {
			mb = max(mb, g.MemoryMB)
		}
	}
	return mb
}

// listed reports whether a GPU's node still lists the GPU.
func listed(g *model.GPU) bool { return g.Health != model.HealthMissing }

// sizes yields, for each node that has GPUs, how many of them suit and count, no matter which task has them.
func (w *Request) sizes(counts func(*model.GPU) bool) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		var n uint32
		var node model.NodeID
		for k := range w.State.NodeGPUs.All() {
			if k.Node != node {
				if node != "" && !yield(n) {
					return
				}
				n, node = 0, k.Node
			}
			if g, _ := w.State.GPUs.Get(k.GPU); w.Sites.Has(k.Node) && w.Suits(g.Model, g.MemoryMB) && counts(&g) && !w.Avoids(k.GPU) {
				n++
			}
		}
		if node != "" {
			yield(n)
		}
	}
}

// lacks returns, in words, what a cluster that could never hold a job has instead.
func (w *Request) lacks() string {
	few := w.Fewest()
	if sites, private := few.Sites.ofAnyUser(); private {
		b := blocker.Blocker{Code: blocker.CodeAccounts}
		b.Private, b.Lacking = few.Sites.NotOpen()
		if few.Sites = sites; few.holds(few.sizes(listed)) {
			return b.Message()
		}
	}
	w = &few
	var all []uint32
	nodes := 0
	for n := range w.sizes(listed) {
		if all = append(all, n); n >= w.PerNode {
			nodes++
		}
	}
	total, most := sum(all), slices.Max(append(all, 0))
	what := blocker.GPUKind(blocker.ModelText(w.Model, ""), w.MemoryMB)
	if w.Sites != nil {
		if w.Sites.none() {
			return fmt.Sprintf("the cluster has no node %s", w.Sites.text())
		}
		what += " on nodes " + w.Sites.text()
	}
	switch have := blocker.ModelsOf(w.State, ""); {
	case total == 0 && w.Model != "" && len(have) > 0 && len(blocker.ModelsOf(w.State, w.Model)) == 0:
		return fmt.Sprintf("the cluster has no %s: its GPUs are %s", strings.Replace(what, "GPU", "GPUs", 1), strings.Join(have, ", "))
	case total == 0 && w.MemoryMB > largestOf(w.State):
		return fmt.Sprintf("the cluster has no %s: the largest has %s", strings.Replace(what, "GPU", "GPUs", 1), blocker.Gigabytes(largestOf(w.State)))
	case total == 0:
		return fmt.Sprintf("the cluster has no %s", strings.Replace(what, "GPU", "GPUs", 1))
	case w.Nodes > 1:
		return fmt.Sprintf("it asks for %d nodes with %s each: the cluster has %s of that size", w.Nodes,
			blocker.Count(w.PerNode, what), blocker.Count(nodes, "node"))
	case w.Nodes == 1:
		return fmt.Sprintf("it asks for %s on one node: the largest node has %d", blocker.Count(w.PerNode, what), most)
	}
	return fmt.Sprintf("it asks for %s: the cluster has %d", blocker.Count(w.PerNode, what), total)
}
