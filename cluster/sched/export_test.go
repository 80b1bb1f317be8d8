package sched

import (
	"errors"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Meant is how many GPUs of which nodes an outlook keeps for which tasks.
func (o *Outlook) Meant() map[model.TaskKey]map[model.NodeID]uint32 {
	out := map[model.TaskKey]map[model.NodeID]uint32{}
	for _, v := range o.meant {
		out[v.task] = map[model.NodeID]uint32{}
		for _, on := range v.at {
			out[v.task][on.node] += on.n
		}
	}
	return out
}

// Bars says that an outlook keeps a node for a gang.
func (o *Outlook) Bars(id model.NodeID) bool { return o.guard.barred[id] > 0 }

// Strict says that somebody has waited for so long that who may be suspended keeps off until then.
func (o *Outlook) Strict() bool { return o.strict }

// ForeseeInOrder makes a forecast as on a cluster that is too large to be played on.
func ForeseeInOrder(s *state.State, now model.Time) Forecast { return foresee(s, now, 0) }

// PlaysOn plays the scheduler on until nothing more is to come, and says what could not be played.
func PlaysOn(s *state.State, now model.Time, work int) error {
	if f := playOn(newPass(s, now), likely(s), s.Queue.Len(), work); f.over != nil && !errors.Is(f.over, errNothing) {
		return f.over
	}
	return nil
}

// LossOf is what an attempt has done since a checkpoint.
var LossOf = lossOf

// LeavesOut says how many waiting tasks a search leaves out, that it has to look at all of them after all, or else
// whether they would have changed its layout.
func LeavesOut(s *state.State, now model.Time) (n int, short, same bool) {
	lay := func(whole bool) (map[model.TaskKey][]split.Part, *split.Layout) {
		p := newPass(s, now)
		b := newBuilder(p)
		b.running(newPreemption(p))
		lines := b.waiting()
		if whole {
			lines.all()
		}
		l := split.Choose(b.problem(lines))
		at := map[model.TaskKey][]split.Part{}
		for i, c := range b.all {
			if l.Short {
				break
			}
			at[c.key.Task] = l.Places[i]
		}
		return at, &l
	}
	all, with := lay(true)
	some, without := lay(false)
	n = len(all) - len(some)
	same = slices.Equal(with.Until, without.Until)
	for key, at := range all { // order-free: a comparison
		same = same && slices.Equal(at, some[key])
	}
	return n, without.Short, same
}

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
	h := &preemptor{want: &want{need: need, nodes: 1}, rights: rights{class: class, owns: true}}
	lenders := make([]lender, len(lend))
	for i, n := range lend {
		lenders[i].more = n
	}
	y := &nodeOffer{}
	for _, v := range all {
		of := &victim{class: v.Class, yields: v.Yields, loss: v.Loss, gpus: v.GPUs + v.All, lender: &lenders[v.Lender]}
		y.held = append(y.held, victimGPUs{of, make([]model.SlotKey, v.GPUs)})
	}
	slices.SortStableFunc(y.held, func(a, b victimGPUs) int { return a.victim.compare(b.victim) })
	victims, at := h.cheapest([]*nodeOffer{y}, nil)
	var best *price
	for set := range 1 << len(y.held) {
		var some []*victim
		var n int
		for i, b := range y.held {
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
