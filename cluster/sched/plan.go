package sched

import (
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxPlan bounds the commands of a plan. Carrying a plan out changes the state, and so asks for the next plan.
const maxPlan = 256

// Plan returns what to place and grant on s, and when the next plan is due even if nothing happens; 0: never. now
// is the time with which the commands will be stamped, or the state's clock if that is later. A cluster that is
// stopped or in a standstill has an empty plan.
func Plan(s *state.State, now model.Time) (commands []command.Body, next model.Time) {
	set := s.Settings()
	if !set.Running || set.Standstill {
		return nil, 0
	}
	p := NewPlanner(s, now)
	p.Run()
	return p.commands, p.next()
}

// Planner makes the plan of one pass.
type Planner struct {
	*pass

	preemption *preemption
	outlook    *Outlook // nil: there was no search, or no outlook is asked for
	misfits    misfits
	stopped    bool // nothing else may start: a task waits that none may pass
}

// misfits is what a pass in order has found no GPUs for.
type misfits struct {
	least   map[model.Shape]time.Duration // shapes that fit nowhere any more, for tasks that need so long or longer
	shorter int                           // tasks that were tried because they might be shorter than others of their run
}

// NewPlanner returns the planner of a pass over s at the time now.
func NewPlanner(s *state.State, now model.Time) *Planner {
	p := newPass(s, now)
	return &Planner{pass: p, preemption: newPreemption(p), misfits: misfits{least: map[model.Shape]time.Duration{}}}
}

// Run makes the whole plan.
func (p *Planner) Run() {
	p.bookings.clear()     // 1. Suspend jobs for bookings that have begun and lack GPUs.
	p.startClaimants(true) // 2. Start the tasks for which others were preempted, once all of their GPUs are free.
	p.Fill()               // 3. Admit, place and reserve, in order or as the result of a search.
	p.preemption.run()     // 4. Preempt jobs of lower classes and borrowers for the first preemptor.
	p.remember()           // 5. Store what the next passes continue from.
}

// Fill starts jobs on free GPUs and, in a search, suspends others to make room.
func (p *Planner) Fill() {
	if p.searches() {
		p.search()
	} else {
		p.inOrder(nil)
	}
}

// search starts and suspends jobs as in the best layout of all jobs.
func (p *Planner) search() { p.outlook = searchFor(p.pass, p.preemption) }

// Again is for how long a plan is valid while something waits and nothing happens: sort keys change with time
// alone.
const Again = 30 * time.Minute

// next returns when the next plan is due even if nothing happens; 0: never.
func (p *Planner) next() model.Time {
	if p.state.Queue.Len() > 0 {
		return sooner(p.Due(), p.now.Add(Again))
	}
	return p.Due()
}

// sooner returns the earlier of two instants; 0 is never.
func sooner(a, b model.Time) model.Time {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Due returns when the next thing happens that is known in advance: the start of a period, a task's next try, a
// booking's start or end, or the first instant at which a task may be stopped for others; 0: never.
func (p *Planner) Due() (at model.Time) {
	at = p.preemption.retryAt
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

// remember adds a command that stores in the state what the next passes continue from.
func (p *Planner) remember() {
	old := p.state.Settings().Steer
	c := p.order.Credit
	if p.found.gangs == old.Gangs && p.order.FrontGPUs == old.Rate && c.Spent == old.Spent {
		return
	}
	p.commands = append(p.commands, &command.Steer{Steer: model.Steer{
		Gangs: p.found.gangs, Credit: c.Left, At: p.now, Rate: p.order.FrontGPUs, Spent: c.Spent,
	}})
}

// pass is one pass over the waiting tasks.
type pass struct {
	state  *state.State
	now    model.Time
	order  *queue.Ordering
	pool   *pool
	budget admission.Budget
	where  wheres
	times  *timetable
	found  found
	planned
	bookings passBookings
}

// planned is what a pass has decided so far.
type planned struct {
	commands []command.Body
	done     map[model.TaskKey]bool // tasks that are placed
}

func newPass(s *state.State, now model.Time) *pass { return newPassBy(s, queue.NewOrdering(s, now)) }

func newPassBy(s *state.State, o *queue.Ordering) *pass {
	pool := newPool(s)
	p := &pass{
		state: s, now: o.Now, order: o, found: found{gangs: s.Settings().Steer.Gangs}, pool: pool, where: wheres{},
		times: newTimetable(s, o.Now, pool), budget: admission.NewBudget(s, o.Now),
		planned: planned{done: map[model.TaskKey]bool{}},
	}
	p.bookings = passBookings{pass: p, books: state.OpenBooks(s, o.Now)}
	return p
}

func (p *pass) full() bool { return len(p.commands) >= maxPlan || p.pool.empty() }

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

// outcome is the result of trying the head of a run.
type outcome uint8

const (
	placed  outcome = iota
	skipped         // it waits for something of its own
	jobFull         // no more tasks of this job
	runOver         // nothing else of this run can be placed either
	allOver         // nothing else at all may be placed
)

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

// freshWant returns what a task asks of GPUs, without regard to what is kept for others.
func (p *pass) freshWant(t *admission.Ticket) want {
	w := wantOf(p.state, &t.Job.Spec, t.Task.Key)
	w.sites = p.where.of(p.state, whereOf(p.state, &t.Job.Spec, t.Service != ""))
	return w
}

// wantOf returns what a task asks of GPUs in this pass.
func (p *pass) wantOf(t *admission.Ticket) want {
	w := p.freshWant(t)
	w = withinLimits(&p.budget, w, t)
	w.keep = guardFor(p.bookings.books, t.Job.Spec.User, t.Job.Spec.Project, t.SpecAsPlaced(p.state).CertainEnd(p.now), &w)
	if p.order.Tuning.Backfill == model.BackfillReserve {
		w.until = p.now.Add(p.times.holds(p.order, t))
	}
	return w
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

// outcomeOf returns what a blocker keeps back: a task, its job or its run.
func outcomeOf(c blocker.Code) outcome {
	switch c { //nolint:exhaustive // all others are the task's own
	case blocker.CodeThrottle, blocker.CodeRunTime:
		return jobFull
	case blocker.CodeLimit, blocker.CodeGPUHours, blocker.CodePool:
		return runOver
	}
	return skipped
}

// gpusOf returns how many GPUs ranks have.
func gpusOf(ranks []command.Placement) (n uint32) {
	for i := range ranks {
		n += uint32(len(ranks[i].Slots))
	}
	return n
}

func (p *pass) add(t *admission.Ticket, ranks []command.Placement) {
	spec := &t.Job.Spec
	p.budget.Release(t)
	p.budget.Use(spec.Project, spec.User, gpusOf(ranks), t.LiveTasks())
	p.budget.Jobs[t.Job.ID]++
	p.done[t.Task.Key] = true
	p.pool.letGo(t.Task.Key)
	p.commands = append(p.commands, t.StartCommand(p.state.Index, ranks))
}

// renewed returns when the next period of a used-up quota begins; 0: no quota is used up.
func renewed(s *state.State, now model.Time) (at model.Time) {
	for scope, a := range s.Accounts.All() {
		if a.Began == 0 {
			continue
		}
		if q := s.QuotaOf(scope, now); q.Exceeded() {
			at = sooner(at, q.Next)
		}
	}
	return at
}
