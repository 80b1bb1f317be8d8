package sched

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/reserve"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// barredNodes returns the blocker of a task for which a search leaves no node, since the nodes on which the task
// would fit are kept for others.
func barredNodes(p *Planner, w *place.Request) blocker.Blocker {
	b := blocker.Blocker{Code: blocker.CodeBarred, Need: int64(w.PerNode), Nodes: int64(w.Nodes)}
	for _, v := range p.Found.Kept {
		if v.GPUs != pass.AllGPUs {
			continue
		}
		b.Have++
		b.Until, b.Task, b.Service = v.From, v.For.Task, admission.TicketOf(p.State, v.For.Task).Service
		if p.Order.Drains(v.For) {
			b.Until = 0 // the expected time does not count
		}
	}
	return b
}

// WhyNoGPUs returns why a task has found no GPUs: there are too few free ones, or the plan gives them to tasks before
// it. Of the capacity fresh nothing was given away.
func (p *Planner) WhyNoGPUs(w *place.Request, fresh *place.Capacity) []blocker.Blocker {
	free := *w
	free.Until = 0
	if p.Found.Plans(w.Task) || len(p.Free.Claimed[w.Task]) > 0 {
		b := blocker.Blocker{Code: blocker.CodeSuspending, Need: int64(w.PerNode), Nodes: int64(w.Nodes), Have: int64(p.Found.Suspended)}
		b.Stopping, b.GPUs, b.Until = stoppedFor(p.State, w.Task)
		return []blocker.Blocker{b}
	}
	if bars := bookingsInTheWay(p.Pass, fresh, free); len(bars) > 0 {
		return bars
	}
	if _, fits := free.Seek(p.Free); fits && len(p.Timetable.Reserved) > 0 && !p.stopped {
		first := p.Timetable.Reserved[0]
		t := admission.TicketOf(p.State, first.Task)
		if p.Order.Drains(t.QueueKey(p.State)) {
			first.At = 0 // the expected time does not count
		}
		return []blocker.Blocker{{
			Code: blocker.CodeReserved, Need: int64(w.PerNode), Nodes: int64(w.Nodes), Have: int64(len(p.Timetable.Reserved)),
			Turn: blocker.Turn{Until: first.At, Task: first.Task, Service: t.Service},
		}}
	}
	if _, fits := free.Seek(p.Free); fits && p.Found.ToRun != nil {
		return []blocker.Blocker{barredNodes(p, w)}
	}
	free.Bookings = nil
	if _, fits := fresh.Find(&free); fits {
		return []blocker.Blocker{{Code: blocker.CodeAhead, Need: int64(w.PerNode), Nodes: int64(w.Nodes), Have: int64(len(p.Commands))}}
	}
	return fresh.Shortage(&free)
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
		until = max(until, a.StopAt.Add(a.Frozen.FenceLead()+reserve.Soon))
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
func bookingsInTheWay(p *pass.Pass, fresh *place.Capacity, w place.Request) (out []blocker.Blocker) {
	if w.Bookings == nil {
		return nil
	}
	k := *w.Bookings
	w.Bookings = nil
	if _, fits := fresh.Find(&w); !fits {
		return nil
	}
	k.Books, k.Why = state.OpenBooks(p.State, p.Now), nil
	w.Bookings = &k
	if _, fits := w.Seek(fresh); fits {
		return nil
	}
	slices.SortFunc(k.Why, func(a, b model.Booking) int { return a.ID.Compare(b.ID) })
	for _, v := range k.Why {
		code := blocker.CodeBooked
		if v.Kind == model.BookMaintenance {
			code = blocker.CodeClosed
		}
		if out = append(out, blocker.Blocker{
			Code: code, Need: int64(w.PerNode), Nodes: int64(w.Nodes),
			Turn: blocker.Turn{Until: v.End, Booking: v},
		}); len(out) == maxBars {
			break
		}
	}
	return out
}
