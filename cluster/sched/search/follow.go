package search

import (
	"iter"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
)

// followUp is a pass that continues from the outlook of an earlier search.
type followUp struct {
	pass    *pass.Pass
	outlook *Outlook
	guard   place.NodeGuard
	misfits map[successorKind]model.Time // kinds that fit nowhere any more if they end at this time or later
	vain    int                          // tasks tried without success
}

// Bounds of one pass: tasks looked at that have come since the search, and tasks tried
// without success.
const (
	maxFresh = 128
	maxVain  = 256
)

// starts starts the tasks that the search wanted to run, and keeps the GPUs of those that cannot start yet.
func (f *followUp) starts() {
	p, left := f.pass, f.outlook.intended[:0]
	f.guard.Held = map[model.NodeID]uint32{}
	for _, v := range f.outlook.intended {
		t := admission.TicketOf(p.State, v.task)
		if !t.Waits() {
			continue
		}
		left = append(left, v)
		if parts, open := p.Free.PartsAt(v.at); p.Done[v.task] || open && p.StartAt(t, parts) {
			continue
		}
		var gpus uint32
		for _, at := range v.at {
			f.guard.Held[at.Node] += at.N
			gpus += at.N
		}
		p.Budget.Use(t.Job.Spec.Project, t.Job.Spec.User, gpus, t.LiveTasks())
		p.Budget.Jobs[t.Job.ID]++
		p.Done[v.task] = true // the task starts in that place only
	}
	f.outlook.intended = left
}

// gangs tries large jobs on the idle nodes that the layout gave to large jobs, so that smaller jobs do not take
// GPUs of these nodes first.
func (f *followUp) gangs() {
	p := f.pass
	only := map[model.NodeID]bool{}
	for id := range p.Free.IdleNodes() {
		if f.outlook.gangs[id] {
			only[id] = true
		}
	}
	if len(only) == 0 {
		return
	}
	g := f.guard
	g.Only = only
	p.Free.Guard = &g
	f.successors(func(h *successor) bool { return h.big })
}

// all tries all tasks that wait; tasks that have come since the search are tried last.
func (f *followUp) all() {
	p := f.pass
	p.Free.Guard = &f.guard
	f.successors(func(*successor) bool { return true })
	seen := 0
	for key := range f.fresh() {
		t := admission.TicketOf(p.State, key)
		if t.Job.Spec.WithoutGPUs() {
			continue
		}
		if seen++; seen > maxFresh || f.over() {
			return
		}
		if !t.Waits() {
			continue
		}
		k := t.QueueKey(p.State)
		h := successorOf(p.State, k, p.Order.Stay(k, f.outlook.strict))
		if !f.hopeless(&h) {
			f.try(&h)
		}
	}
}

// fresh yields what has come since the search: services, then tasks.
func (f *followUp) fresh() iter.Seq[model.TaskKey] {
	s, o := f.pass.State, f.outlook
	return func(yield func(model.TaskKey) bool) {
		for turn := range s.Waiting.From(model.TurnOf(o.fresh-1, o.turn)) {
			if !yield(turn) {
				return
			}
		}
		for key := range s.Tasks.From(model.TaskKey{Job: o.fresh}) {
			if !yield(key) {
				return
			}
		}
	}
}

// successors tries the selected tasks that found no GPUs in the search, in the order of the search.
func (f *followUp) successors(of func(*successor) bool) {
	f.misfits = map[successorKind]model.Time{}
	o, left := f.outlook, f.outlook.next[:0]
	for i := range o.next {
		h := o.next[i]
		waits := true
		for waits && of(&h) && !f.over() && !f.hopeless(&h) {
			if f.try(&h) == fateWaits {
				break
			}
			waits = h.last && f.advance(&h)
		}
		if waits {
			left = append(left, h)
		}
	}
	o.next = left
}

// over reports whether the pass tries nothing more.
func (f *followUp) over() bool { return f.vain >= maxVain || f.pass.Full() }

// advance moves on to the next task of a run, and reports whether there is one.
func (f *followUp) advance(h *successor) bool {
	after := h.key
	after.Task.Task++
	next, found := queue.KeyFrom(f.pass.State, after)
	if !found || !queue.SameRun(next, h.key) {
		return false
	}
	h.key = next
	return true
}

// hopeless reports whether another task of the same kind has found no room already.
func (f *followUp) hopeless(h *successor) bool {
	least, known := f.misfits[h.kind]
	return known && (h.kind.yields || f.pass.Now.Add(h.ends) >= least)
}

// fate is the result of trying a task.
type fate uint8

const (
	fateWaits   fate = iota
	fateStarted      // or is planned to start elsewhere
	fateGone         // the task does not wait any more
)

// try starts a task if the task may start and fits.
func (f *followUp) try(h *successor) fate {
	p := f.pass
	t := admission.TicketOf(p.State, h.key.Task)
	switch {
	case !t.Waits():
		return fateGone
	case p.Done[t.Task.Key]:
		return fateStarted
	case len(p.Free.Claimed[t.Task.Key]) > 0 || !p.Admits(t):
		f.vain++
		return fateWaits
	}
	w := p.RequestOf(t)
	w.Until, w.Ends, w.Yields = 0, p.Now.Add(h.ends), h.kind.yields
	if ranks, fits := p.Free.Place(&w); fits {
		p.Start(t, ranks)
		return fateStarted
	}
	f.vain++
	if p.Bookings.Books == nil && t.Task.Avoid == 0 {
		f.misfits[h.kind] = w.Ends
	}
	return fateWaits
}
