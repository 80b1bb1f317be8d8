package place

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// choose returns n of a node's GPUs that suit a task: first the GPUs that are claimed for the task, then GPUs that
// are near each other, in order of place.
func choose(gpus []GPU, w *Request, n int) []GPU {
	var own, free []GPU
	for i := range gpus {
		switch g := &gpus[i]; {
		case !w.Takes(g):
		case g.Claimant != model.TaskKey{}:
			own = append(own, *g)
		default:
			free = append(free, *g)
		}
	}
	if len(own) >= n {
		return near(own, n)
	}
	return append(own, near(free, n-len(own))...)
}

// near returns n GPUs that NVLink joins, if that many are free, and among those n of one NUMA node, if that many
// are. Of several such groups near takes the smallest.
func near(gpus []GPU, n int) []GPU {
	for _, alike := range []func(a, b *GPU) bool{
		func(a, b *GPU) bool { return a.link == b.link && (a.link != "" || n == 1) },
		func(a, b *GPU) bool { return a.numa == b.numa },
	} {
		if group := smallest(gpus, n, alike); group != nil {
			gpus = group
		}
	}
	return gpus[:n]
}

// smallest returns the smallest group of like GPUs with at least n GPUs; nil if there is no such group.
func smallest(gpus []GPU, n int, alike func(a, b *GPU) bool) (best []GPU) {
	for i := range gpus {
		first := &gpus[i]
		if slices.ContainsFunc(gpus[:i], func(g GPU) bool { return alike(first, &g) }) {
			continue
		}
		var group []GPU
		for j := range gpus[i:] {
			if alike(first, &gpus[i+j]) {
				group = append(group, gpus[i+j])
			}
		}
		if len(group) >= n && (best == nil || len(group) < len(best)) {
			best = group
		}
	}
	return best
}
