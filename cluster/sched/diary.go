package sched

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// keeps is what is kept of nodes for those who found none.
type keeps map[model.NodeID]*diary

// diary is what is expected of a node of which something is kept.
type diary struct {
	parts []kept
	gains []gain
	steps []step // of both, in order; nil: to be looked up anew
}

// kept is so many GPUs of a node, from an instant until another.
type kept struct {
	n         uint32
	at, until model.Time
	want      *want // of whom; nil: of somebody who takes any
}

// gain is a GPU that is expected to become free.
type gain struct {
	at  model.Time
	gpu gpu
}

// step is by how many GPUs fewer are left from an instant on.
type step struct {
	at    model.Time
	fewer int
	gain  bool // because GPUs become free
}

// add notes what is kept of a node.
func (d *diary) add(k kept) { d.parts, d.steps = append(d.parts, k), nil }

// drop forgets what is kept for one.
func (d *diary) drop(w *want) {
	d.parts, d.steps = slices.DeleteFunc(d.parts, func(k kept) bool { return k.want == w }), nil
}

// of is how many GPUs of the node are kept for one.
func (d *diary) of(w *want) (n uint32) {
	for i := range d.parts {
		if d.parts[i].want == w {
			n += d.parts[i].n
		}
	}
	return n
}

// frees notes GPUs that are expected to become free.
func (d *diary) frees(at model.Time, gpus []gpu) {
	for i := range gpus {
		d.gains = append(d.gains, gain{at, gpus[i]})
	}
	d.steps = nil
}

// inOrder is what happens on the node, in order: at one instant what leaves more first. Of what
// becomes free only that counts which suits all for whom something is kept.
func (d *diary) inOrder() []step {
	if d.steps != nil {
		return d.steps
	}
	steps := make([]step, 0, 2*len(d.parts)+len(d.gains))
	for _, k := range d.parts {
		steps = append(steps, step{k.at, int(k.n), false}, step{k.until, -int(k.n), false})
	}
	for i := range d.gains {
		if g := &d.gains[i]; !slices.ContainsFunc(d.parts, func(k kept) bool { return k.want != nil && !k.want.takes(&g.gpu) }) {
			steps = append(steps, step{g.at, -1, true})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.fewer, b.fewer)) })
	d.steps = steps
	return steps
}

// held is how many of the GPUs of a node that are free at an instant must be left alone by who keeps
// them until another: the most that those for whom something is kept would lack at any instant
// between. What becomes free in time for them need not be left.
func (r keeps) held(id model.NodeID, from, until model.Time) uint32 {
	d := r[id]
	if d == nil {
		return 0
	}
	steps, now, i := d.inOrder(), 0, 0
	for ; i < len(steps) && steps[i].at <= from; i++ {
		if !steps[i].gain { // what is free by then is counted as free
			now += steps[i].fewer
		}
	}
	most := now
	for ; i < len(steps) && steps[i].at < until; i++ {
		now += steps[i].fewer
		most = max(most, now)
	}
	return uint32(max(most, 0)) //nolint:gosec // few
}
