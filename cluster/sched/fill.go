package sched

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"time"
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
	q := queue.NewQueue(p.order)
	q.AddSingles()
	for q.Len() > 0 && !p.over() {
		r := q.Head()
		if before != nil && r.At.Compare(*before) >= 0 {
			return
		}
		switch p.try(r) {
		case placed, skipped:
			q.Advance()
		case jobFull:
			q.SkipJob()
		case runOver:
			r.Done = true
		case allOver:
			p.stopped = true
			p.found.owed = append(p.found.owed, owed{to: r.Key, gpus: everyGPU})
			return
		}
		q.Reorder()
	}
}

// over reports whether a pass in order is at its end. Even if no GPU is left, the pass goes on to keep what will
// be free for the first tasks, as long as other tasks might take that.
func (p *Planner) over() bool {
	t := &p.order.Tuning
	keeps := t.Backfill == model.BackfillNone || t.Backfill == model.BackfillReserve && len(p.times.reserved) < int(t.Depth)
	return p.full() && (len(p.commands) >= maxPlan || !keeps || !p.mayPreempt())
}

func (p *Planner) try(r *queue.Run) outcome {
	key := r.Key.Task
	if p.done[key] {
		return skipped // its GPUs were kept for it
	}
	if !r.Single && len(p.pool.kept[key]) > 0 {
		return skipped // it has a run of its own
	}
	t := admission.TicketOf(p.state, key)
	if !r.Single && t.Task.Avoid > 0 {
		return skipped // likewise, once its backoff is over
	}
	for b := range p.admit(t) {
		return outcomeOf(b.Code)
	}
	run := r.Key.Run.Value()
	if least, known := p.misfits.least[shapeIn(p.state, &run)]; known && !r.Single && (least == 0 || p.bookings.books == nil) && p.times.holds(p.order, t) >= least {
		return p.tooLong(&run, least)
	}
	w := p.wantOf(t)
	ranks, fits := p.pool.place(&w)
	if !fits && p.times.shift(&w) {
		ranks, fits = p.pool.place(&w)
	}
	if fits {
		p.add(t, ranks)
		return placed
	}
	return p.misplaced(t, r, &w)
}

// misplaced returns what follows if a task finds no GPUs.
func (p *Planner) misplaced(t *admission.Ticket, r *queue.Run, w *want) outcome {
	barred, all := p.bookings.bars(w, r.Key.Run.Value().Certain)
	if barred && (all || r.Single) {
		return runOver
	} else if barred {
		return skipped
	}
	free := *w
	free.keep = nil // a task waits for GPUs no matter what is booked
	if w.until > 0 {
		free.until = p.now.Add(t.HoldTime())
	}
	switch tuning := &p.order.Tuning; {
	case tuning.Backfill == model.BackfillNone:
		return allOver
	case len(p.pool.kept[w.who]) > 0:
		return runOver // others have been stopped for it: it needs nothing else
	case w.until > 0 && len(p.times.reserved) < int(tuning.Depth) && p.times.reserveIn(p.order, &free, r.Key):
		return skipped
	}
	if r.Single {
		return runOver
	}
	run := r.Key.Run.Value()
	shape := shapeIn(p.state, &run)
	p.misfits.least[shape] = 0
	if w.until > 0 {
		free.until = 0
		if _, fits := p.pool.find(&free); fits {
			p.misfits.least[shape] = w.until.Sub(p.now)
			return p.tooLong(&run, w.until.Sub(p.now))
		}
	}
	return runOver
}

// maxShorter bounds the tasks of a pass that are looked at because they may be shorter than one of their run that
// was too long: a run's expected times differ by less than a fifth.
const maxShorter = 256

// tooLong returns what follows if a task finds no GPUs for so long: others of its run may need them for less.
func (p *Planner) tooLong(run *state.Run, least time.Duration) outcome {
	if run.Expected.Least() >= least || p.misfits.shorter >= maxShorter {
		return runOver
	}
	p.misfits.shorter++
	return skipped
}
