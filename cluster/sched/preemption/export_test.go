package preemption

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/model"
)

// LossOf is what an attempt has done since a checkpoint.
var LossOf = lossOf

// Holds is an attempt that has GPUs of a node, and as many elsewhere.
type Holds struct {
	Class     model.Class
	Yields    bool
	Loss      int64
	GPUs, All uint32
	Lender    int // of those who lend so many
}

// CheapestOf is the price of the victims that are chosen on a node to have so many GPUs, and of the cheapest of all sets.
func CheapestOf(class model.Class, need uint32, all []Holds, lend []int64) (chosen, least any, found bool) {
	h := &preemptor{request: &place.Request{PerNode: need, Nodes: 1}, rights: rights{class: class, owns: true}}
	lenders := make([]lender, len(lend))
	for i, n := range lend {
		lenders[i].more = n
	}
	offer := &nodeOffer{}
	for _, v := range all {
		of := &victim{class: v.Class, yields: v.Yields, loss: v.Loss, gpus: v.GPUs + v.All, lender: &lenders[v.Lender]}
		offer.held = append(offer.held, victimGPUs{of, make([]model.SlotKey, v.GPUs)})
	}
	slices.SortStableFunc(offer.held, func(a, b victimGPUs) int { return a.victim.compare(b.victim) })
	victims, at := h.cheapest([]*nodeOffer{offer}, nil)
	var best *price
	for set := range 1 << len(offer.held) {
		var some []*victim
		var n int
		for i, b := range offer.held {
			if set>>i&1 == 1 {
				some, n = append(some, b.victim), n+len(b.slots)
			}
		}
		if cost := h.priceOf(some...); n >= int(need) && lent(h, some) && (best == nil || cost.compare(*best) < 0) {
			best = &cost
		}
	}
	if best == nil || at < 0 {
		return at >= 0, best != nil, best != nil || at >= 0
	}
	return h.priceOf(victims...), *best, true
}

// lent says that victims may be taken one after the other, in some order, as long as each time their owner holds
// more than it owns.
func lent(h *preemptor, victims []*victim) bool {
	taken, largest := map[*lender]int64{}, map[*lender]int64{}
	for _, v := range victims {
		if !h.byClass(v.class) {
			taken[v.lender] += int64(v.gpus)
			largest[v.lender] = max(largest[v.lender], int64(v.gpus))
		}
	}
	for l, n := range taken { // order-free: a condition on each
		if n-largest[l] >= l.more {
			return false
		}
	}
	return true
}
