package sched

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// barred returns the blocker of a task for which a search leaves no node, since the nodes on which the task
// would fit are kept for others.
func barred(p *Planner, w *want) blocker.Blocker {
	b := blocker.Blocker{Code: blocker.CodeBarred, Need: int64(w.need), Nodes: int64(w.nodes)}
	for _, v := range p.found.owed {
		if v.gpus != everyGPU {
			continue
		}
		b.Have++
		b.Until, b.Task, b.Service = v.from, v.to.Task, admission.TicketOf(p.state, v.to.Task).Service
		if p.order.Drains(v.to) {
			b.Until = 0 // the expected time does not count
		}
	}
	return b
}

// Misfit returns why a task has found no GPUs: there are too few free ones, or the plan gives them to tasks before
// it. From the pool fresh nothing was given away.
func (p *Planner) Misfit(w *want, fresh *pool) []blocker.Blocker {
	free := *w
	free.until = 0
	if p.found.plans(w.who) || len(p.pool.kept[w.who]) > 0 {
		b := blocker.Blocker{Code: blocker.CodeSuspending, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(p.found.stops)}
		b.Stopping, b.GPUs, b.Until = stoppedFor(p.state, w.who)
		return []blocker.Blocker{b}
	}
	if bars := bookingsInTheWay(p.pass, fresh, free); len(bars) > 0 {
		return bars
	}
	if _, fits := free.seek(p.pool); fits && len(p.times.reserved) > 0 && !p.stopped {
		first := p.times.reserved[0]
		t := admission.TicketOf(p.state, first.Task)
		if p.order.Drains(t.QueueKey(p.state)) {
			first.At = 0 // the expected time does not count
		}
		return []blocker.Blocker{{
			Code: blocker.CodeReserved, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(len(p.times.reserved)),
			Turn: blocker.Turn{Until: first.At, Task: first.Task, Service: t.Service},
		}}
	}
	if _, fits := free.seek(p.pool); fits && p.found.planned != nil {
		return []blocker.Blocker{barred(p, w)}
	}
	free.keep = nil
	if _, fits := fresh.find(&free); fits {
		return []blocker.Blocker{{Code: blocker.CodeAhead, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(len(p.commands))}}
	}
	return fresh.shortage(&free)
}

// maxStopping bounds the jobs that are named as being stopped for a task.
const maxStopping = 3

// stoppedFor returns, in words, the jobs that are being stopped so that a task gets their GPUs. It also returns how
// many of these GPUs are kept for the task, and when they are free at the latest if all goes well.
func stoppedFor(s *state.State, task model.TaskKey) (stopped string, gpus uint32, until model.Time) {
	var names []string
	for k := range s.ClaimedFor.From(state.ClaimKey{Task: task}) {
		if k.Task != task {
			break
		}
		slot, _ := s.Slots.Get(k.Slot)
		a, _ := s.Attempts.Get(slot.Rank.Attempt())
		if slot.Owner != model.OwnerAttempt || a.Stop == model.ReasonNone {
			continue
		}
		gpus++
		until = max(until, a.StopAt.Add(a.Frozen.FenceLead()+soon))
		if name := (blocker.Holder{Task: a.Key.TaskKey()}).String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	verb := " have"
	if len(names) == 1 {
		verb = " has"
	}
	if more := len(names) - maxStopping; more > 0 {
		names = append(names[:maxStopping], fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		stopped = strings.Join(names, " and ") + verb
	}
	return stopped, gpus, until
}

// maxBars bounds the bookings that an explanation names.
const maxBars = 3

// bookingsInTheWay lists the bookings because of which a task finds no GPUs, even before anything is placed. The list is
// empty if bookings are not the cause, or not the only one.
func bookingsInTheWay(p *pass, fresh *pool, w want) (out []blocker.Blocker) {
	if w.keep == nil {
		return nil
	}
	k := *w.keep
	w.keep = nil
	if _, fits := fresh.find(&w); !fits {
		return nil
	}
	k.books, k.why = state.OpenBooks(p.state, p.now), nil
	w.keep = &k
	if _, fits := w.seek(fresh); fits {
		return nil
	}
	slices.SortFunc(k.why, func(a, b model.Booking) int { return a.ID.Compare(b.ID) })
	for _, v := range k.why {
		code := blocker.CodeBooked
		if v.Kind == model.BookMaintenance {
			code = blocker.CodeClosed
		}
		if out = append(out, blocker.Blocker{Code: code, Need: int64(w.need), Nodes: int64(w.nodes), Turn: blocker.Turn{Until: v.End, Booking: v}}); len(out) == maxBars {
			break
		}
	}
	return out
}
