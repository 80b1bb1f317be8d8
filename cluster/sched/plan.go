package sched

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxPlan bounds the commands of a plan. Carrying one out changes the state, and
// so asks for the next.
const maxPlan = 256

// Plan is what to place and grant on s, and when the next task that is not to be
// tried before an instant may be tried; 0: there is none. now is the time that
// the commands will be stamped with, or the state's clock if that is later.
// A cluster that is stopped or
// stands still has an empty plan.
func Plan(s *state.State, now model.Time) (commands []command.Body, next model.Time) {
	set := s.Settings()
	if !set.Running || set.Standstill {
		return nil, 0
	}
	p := newPass(s, now)
	p.run()
	return p.commands, p.next()
}

// run makes the whole plan.
func (p *pass) run() {
	p.beside.clear()
	p.claimed()
	p.fill()
	p.preempt()
	p.remember()
}

// fill has jobs start on what is free, and others make room for them.
func (p *pass) fill() {
	if p.searches() {
		p.search()
	} else {
		p.jobs(nil)
	}
}

// again is how long a plan is good while something waits and nothing happens: keys
// change with time alone.
const again = 30 * time.Minute

// next is when the next plan is due although nothing happens; 0: never.
func (p *pass) next() model.Time {
	if p.state.Queue.Len() > 0 {
		return sooner(due(p), p.now.Add(again))
	}
	return due(p)
}

// sooner is the first of two instants; 0 is never.
func sooner(a, b model.Time) model.Time {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// due is when something comes about that is known before: a period, a task's next try, a booking's start or
// end, or that somebody may be stopped for others; 0: never.
func due(p *pass) (at model.Time) {
	if p.found.prey != nil {
		at = p.found.prey.wake
	}
	if p.state.Queue.Len() > 0 {
		at = sooner(at, sooner(p.found.frees, renewed(p.state, p.now)))
	}
	for k := range p.state.Due.From(state.DueKey{At: p.now + 1}) {
		at = sooner(at, k.At)
		break
	}
	for _, b := range p.state.Bookings.All() {
		for _, t := range []model.Time{b.Start, b.End} {
			if t > p.now {
				at = sooner(at, t)
			}
		}
	}
	return at
}

// remember has the state remember what the next passes go on from.
func (p *pass) remember() {
	old := p.state.Settings().Steer
	c := p.order.credit
	if p.found.gangs == old.Gangs && p.order.held == old.Rate && c.spent == old.Spent {
		return
	}
	p.commands = append(p.commands, &command.Steer{Steer: model.Steer{
		Gangs: p.found.gangs, Credit: c.left, At: p.now, Rate: p.order.held, Spent: c.spent,
	}})
}

// pass is one pass over what waits.
type pass struct {
	state   *state.State
	now     model.Time
	order   *order
	pool    *pool
	budget  budget
	where   wheres
	misfits misfits
	times   timetable
	found   found
	stopped bool // nothing may start while the one before it waits
	planned
	beside beside
}

// misfits is what a pass has found no GPUs for.
type misfits struct {
	least   map[model.Shape]time.Duration // shapes that fit nowhere any more, if they need so long or longer
	shorter int                           // tasks that were tried since they might be shorter than others of their run
}

// planned is what a pass has come to.
type planned struct {
	commands []command.Body
	done     map[model.TaskKey]bool // tasks that are placed
}

func newPass(s *state.State, now model.Time) *pass { return newPassBy(s, newOrder(s, now)) }

func newPassBy(s *state.State, o *order) *pass {
	pool := newPool(s)
	p := &pass{
		state: s, now: o.now, order: o, found: found{gangs: s.Settings().Steer.Gangs}, pool: pool, where: wheres{},
		times: timetable{state: s, now: o.now, pool: pool, left: likely(s)}, budget: newBudget(s, o.now), misfits: misfits{least: map[model.Shape]time.Duration{}},
		planned: planned{done: map[model.TaskKey]bool{}},
	}
	p.beside = beside{pass: p, books: state.OpenBooks(s, o.now)}
	return p
}

func (p *pass) full() bool { return len(p.commands) >= maxPlan || p.pool.empty() }

// jobs tries the waiting tasks in order; with a task given, those before it.
func (p *pass) jobs(before *standing) {
	if over(p) {
		return
	}
	q := newQueue(p.order)
	q.addSingles()
	for q.Len() > 0 && !over(p) {
		r := q.head()
		if before != nil && r.at.compare(*before) >= 0 {
			return
		}
		switch p.try(r) {
		case placed, skipped:
			q.advance()
		case jobFull:
			q.skipJob()
		case runOver:
			r.done = true
		case allOver:
			p.stopped = true
			p.found.owed = append(p.found.owed, owed{to: r.key, gpus: everyGPU})
			return
		}
		q.settle()
	}
}

// over says that a pass in order has come to its end. Where nothing is left for anybody it still keeps
// what will be free for those who go first, if others might take that.
func over(p *pass) bool {
	t := &p.order.tuning
	keeps := t.Backfill == model.BackfillNone || t.Backfill == model.BackfillReserve && len(p.times.reserved) < int(t.Depth)
	return p.full() && (len(p.commands) >= maxPlan || !keeps || !anyHunts(p))
}

// outcome is what came of trying the head of a run.
type outcome uint8

const (
	placed  outcome = iota
	skipped         // it waits for something of its own
	jobFull         // no more tasks of this job
	runOver         // nothing else of this run can be placed either
	allOver         // nothing else at all may be placed
)

func (p *pass) try(r *run) outcome {
	key := r.key.Task
	if p.done[key] {
		return skipped // its GPUs were kept for it
	}
	if !r.single && len(p.pool.kept[key]) > 0 {
		return skipped // it has a run of its own
	}
	t := ticketOf(p.state, key)
	if !r.single && t.task.Avoid > 0 {
		return skipped // likewise, once its backoff is over
	}
	for b := range p.admit(t) {
		return outcomeOf(b.Code)
	}
	run := r.key.Run.Value()
	if least, known := p.misfits.least[shapeIn(p.state, &run)]; known && !r.single && (least == 0 || p.beside.books == nil) && p.times.holds(p.order, t) >= least {
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

// freshWant is what a task asks of GPUs, whatever is kept for others.
func freshWant(p *pass, t *ticket) want {
	w := wantOf(p.state, &t.job.Spec, t.task.Key)
	w.sites = p.where.of(p.state, whereOf(p.state, &t.job.Spec, t.service != ""))
	return w
}

// wantOf is what a task asks of GPUs in this pass.
func (p *pass) wantOf(t *ticket) want {
	w := freshWant(p, t)
	w = p.budget.within(w, t)
	w.keep = keepFor(p.beside.books, t.job.Spec.User, t.job.Spec.Project, t.asPlaced(p.state).CertainEnd(p.now), &w)
	if p.order.tuning.Backfill == model.BackfillReserve {
		w.until = p.now.Add(p.times.holds(p.order, t))
	}
	return w
}

// misplaced says what follows from a task's finding no GPUs.
func (p *pass) misplaced(t *ticket, r *run, w *want) outcome {
	barred, all := p.beside.bars(w, r.key.Run.Value().Certain)
	if barred && (all || r.single) {
		return runOver
	} else if barred {
		return skipped
	}
	free := *w
	free.keep = nil // who waits for GPUs waits for them whatever is booked
	if w.until > 0 {
		free.until = p.now.Add(t.holds())
	}
	switch tuning := &p.order.tuning; {
	case tuning.Backfill == model.BackfillNone:
		return allOver
	case len(p.pool.kept[w.who]) > 0:
		return runOver // others have been stopped for it: it needs nothing else
	case w.until > 0 && len(p.times.reserved) < int(tuning.Depth) && p.times.reserveIn(p.order, &free, r.key):
		return skipped
	}
	if r.single {
		return runOver
	}
	run := r.key.Run.Value()
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

// maxShorter bounds the tasks of a pass that are looked at since they may be shorter than one of
// their run that was too long: a run's expected times differ by less than a fifth.
const maxShorter = 256

// tooLong says what follows from a task's finding no GPUs for so long: others of its run may need
// them for less.
func (p *pass) tooLong(run *state.Run, least time.Duration) outcome {
	if run.Expected.Least() >= least || p.misfits.shorter >= maxShorter {
		return runOver
	}
	p.misfits.shorter++
	return skipped
}

// outcomeOf says what keeps whom back: a task, its job or its run.
func outcomeOf(c Code) outcome {
	switch c { //nolint:exhaustive // all others are the task's own
	case CodeThrottle, CodeRunTime:
		return jobFull
	case CodeLimit, CodeGPUHours, CodePool:
		return runOver
	}
	return skipped
}

// gpusOf is how many GPUs ranks have.
func gpusOf(ranks []command.Placement) (n uint32) {
	for i := range ranks {
		n += uint32(len(ranks[i].Slots)) //nolint:gosec // few
	}
	return n
}

func (p *pass) add(t *ticket, ranks []command.Placement) {
	spec := &t.job.Spec
	p.budget.letGo(t)
	p.budget.use(spec.Project, spec.User, gpusOf(ranks), t.live())
	p.budget.jobs[t.job.ID]++
	p.done[t.task.Key] = true
	letGo(p.pool, t.task.Key)
	p.commands = append(p.commands, t.start(p.state.Index, ranks))
}
