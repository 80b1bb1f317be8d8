package place

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// ReservedGPUs is the GPUs that are kept on each node for tasks, from expected times on.
type ReservedGPUs map[model.NodeID]*NodeReservations

// NodeReservations is what is expected of a node on which GPUs are kept.
type NodeReservations struct {
	parts []ReservedPart
	gains []gain
	steps []step // of both, in order; nil: to be computed again
}

// ReservedPart is n GPUs of a node that are kept from one instant until another.
type ReservedPart struct {
	N         uint32
	At, Until model.Time
	Request   *Request // of the task; nil: of a holder that takes any GPUs
}

// gain is a GPU that is expected to become free.
type gain struct {
	at  model.Time
	gpu GPU
}

// step is how many fewer GPUs are left from an instant on.
type step struct {
	at    model.Time
	fewer int
	gain  bool // because GPUs become free
}

// Add adds GPUs that are kept.
func (d *NodeReservations) Add(k ReservedPart) { d.parts, d.steps = append(d.parts, k), nil }

// Drop removes what is kept for a task.
func (d *NodeReservations) Drop(w *Request) {
	d.parts, d.steps = slices.DeleteFunc(d.parts, func(k ReservedPart) bool { return k.Request == w }), nil
}

// Of returns how many GPUs of the node are kept for a task.
func (d *NodeReservations) Of(w *Request) (n uint32) {
	for i := range d.parts {
		if d.parts[i].Request == w {
			n += d.parts[i].N
		}
	}
	return n
}

// AddRelease adds GPUs that are expected to become free.
func (d *NodeReservations) AddRelease(at model.Time, gpus []GPU) {
	for i := range gpus {
		d.gains = append(d.gains, gain{at, gpus[i]})
	}
	d.steps = nil
}

// inOrder returns what happens on the node, in order of time. Of the steps of one instant, those that leave more
// GPUs come first. A GPU that becomes free counts only if it suits all tasks that have GPUs kept here.
func (d *NodeReservations) inOrder() []step {
	if d.steps != nil {
		return d.steps
	}
	steps := make([]step, 0, 2*len(d.parts)+len(d.gains))
	for _, k := range d.parts {
		steps = append(steps, step{k.At, int(k.N), false}, step{k.Until, -int(k.N), false})
	}
	for i := range d.gains {
		if g := &d.gains[i]; !slices.ContainsFunc(d.parts, func(k ReservedPart) bool { return k.Request != nil && !k.Request.Takes(&g.gpu) }) {
			steps = append(steps, step{g.at, -1, true})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.fewer, b.fewer)) })
	d.steps = steps
	return steps
}

// Withheld returns how many of a node's GPUs that are free at one instant a task must leave alone if it would hold
// them until another: the most that the tasks with kept GPUs would lack at any instant in between. GPUs that
// become free in time for these tasks reduce the number.
func (r ReservedGPUs) Withheld(id model.NodeID, from, until model.Time) uint32 {
	d := r[id]
	if d == nil {
		return 0
	}
	steps, now, i := d.inOrder(), 0, 0
	for ; i < len(steps) && steps[i].at <= from; i++ {
		if !steps[i].gain { // a GPU that is free by then is counted as free already
			now += steps[i].fewer
		}
	}
	most := now
	for ; i < len(steps) && steps[i].at < until; i++ {
		now += steps[i].fewer
		most = max(most, now)
	}
	return uint32(max(most, 0))
}
