package sched

import (
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// misfits is what a pass in order has found no GPUs for.
type misfits struct {
	least   map[model.Shape]time.Duration // shapes that fit nowhere any more, for tasks that need so long or longer
	shorter int                           // tasks that were tried because they might be shorter than others of their run
}

// inOrder tries the waiting tasks in order or, with a place given, those that come before it.
func (p *Planner) inOrder(before *queue.SortKey) {
	if p.over() {
		return
	}
	q := queue.NewQueue(p.Order)
	q.AddSingles()
	for q.Len() > 0 && !p.over() {
		r := q.Head()
		if before != nil && r.At.Compare(*before) >= 0 {
			return
		}
		switch p.try(r) {
		case pass.Placed, pass.Skipped:
			q.Advance()
		case pass.JobFull:
			q.SkipJob()
		case pass.RunOver:
			r.Done = true
		case pass.AllOver:
			p.stopped = true
			p.Found.Kept = append(p.Found.Kept, pass.KeptGPUs{For: r.Key, GPUs: pass.AllGPUs})
			return
		}
		q.Reorder()
	}
}

// over reports whether a pass in order is at its end. Even if no GPU is left, the pass goes on to keep what will
// be free for the first tasks, as long as other tasks might take that.
func (p *Planner) over() bool {
	t := &p.Order.Tuning
	keeps := t.Backfill == model.BackfillNone || t.Backfill == model.BackfillReserve && len(p.Timetable.Reserved) < int(t.Depth)
	return p.Full() && (len(p.Commands) >= pass.MaxPlan || !keeps || !p.MayPreempt())
}

func (p *Planner) try(r *queue.Run) pass.Outcome {
	key := r.Key.Task
	if p.Done[key] {
		return pass.Skipped // its GPUs were kept for it
	}
	if !r.Single && len(p.Free.Claimed[key]) > 0 {
		return pass.Skipped // it has a run of its own
	}
	t := admission.TicketOf(p.State, key)
	if !r.Single && t.Task.Avoid > 0 {
		return pass.Skipped // likewise, once its backoff is over
	}
	for b := range p.Blockers(t) {
		return pass.OutcomeOf(b.Code)
	}
	run := r.Key.Run.Value()
	if least, known := p.misfits.least[place.ShapeOf(p.State, &run)]; known && !r.Single && (least == 0 || p.Bookings.Books == nil) &&
		p.Timetable.HoldTime(p.Order, t) >= least {
		return p.tooLong(&run, least)
	}
	w := p.RequestOf(t)
	ranks, fits := p.Free.Place(&w)
	if !fits && p.Timetable.Shift(&w) {
		ranks, fits = p.Free.Place(&w)
	}
	if fits {
		p.Start(t, ranks)
		return pass.Placed
	}
	return p.misplaced(t, r, &w)
}

// misplaced returns what follows if a task finds no GPUs.
func (p *Planner) misplaced(t *admission.Ticket, r *queue.Run, w *place.Request) pass.Outcome {
	barred, all := p.Bookings.Bars(w, r.Key.Run.Value().Certain)
	if barred && (all || r.Single) {
		return pass.RunOver
	} else if barred {
		return pass.Skipped
	}
	free := *w
	free.Bookings = nil // a task waits for GPUs no matter what is booked
	if w.Until > 0 {
		free.Until = p.Now.Add(t.HoldTime())
	}
	switch tuning := &p.Order.Tuning; {
	case tuning.Backfill == model.BackfillNone:
		return pass.AllOver
	case len(p.Free.Claimed[w.Task]) > 0:
		return pass.RunOver // others have been stopped for it: it needs nothing else
	case w.Until > 0 && len(p.Timetable.Reserved) < int(tuning.Depth) && p.Timetable.ReserveFor(p.Order, &free, r.Key):
		return pass.Skipped
	}
	if r.Single {
		return pass.RunOver
	}
	run := r.Key.Run.Value()
	shape := place.ShapeOf(p.State, &run)
	p.misfits.least[shape] = 0
	if w.Until > 0 {
		free.Until = 0
		if _, fits := p.Free.Find(&free); fits {
			p.misfits.least[shape] = w.Until.Sub(p.Now)
			return p.tooLong(&run, w.Until.Sub(p.Now))
		}
	}
	return pass.RunOver
}

// maxShorter bounds the tasks of a pass that are looked at because they may be shorter than one of their run that
// was too long: a run's expected times differ by less than a fifth.
const maxShorter = 256

// tooLong returns what follows if a task finds no GPUs for so long: others of its run may need them for less.
func (p *Planner) tooLong(run *state.Run, least time.Duration) pass.Outcome {
	if run.Expected.Least() >= least || p.misfits.shorter >= maxShorter {
		return pass.RunOver
	}
	p.misfits.shorter++
	return pass.Skipped
}
