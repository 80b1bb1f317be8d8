package sched

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"unique"
)

// maxPlan bounds the commands of a plan. Carrying a plan out changes the state, and so asks for the next plan.
const maxPlan = 256

// maxSuspend bounds the attempts of one command.
const maxSuspend = 1024

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

// found is the result of a search.
type found struct {
	planned map[model.TaskKey]unique.Handle[state.Run] // waiting tasks that should run, including those placed

	stops int        // attempts that are suspended
	gangs uint32     // nodes that large jobs were given
	looks bool       // an outlook is asked for
	frees model.Time // when the first attempt that may not be suspended yet may be; 0: never
	owed  []owed     // what is kept for waiting tasks
}

// plans reports whether a waiting task should run.
func (f *found) plans(key model.TaskKey) bool {
	_, is := f.planned[key]
	return is
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

// searches reports whether the pass looks for the best set of jobs to run, rather than filling what is free in
// order: under fair share with backfill reservations, and otherwise where jobs may be suspended. Without backfill
// no task passes the first that finds no GPUs, so no running job would have to be suspended for an earlier one.
func (p *pass) searches() bool {
	t := &p.order.Tuning
	if t.Backfill == model.BackfillNone {
		return false
	}
	if p.order.Policy.Name == queue.DefaultPolicy && t.Backfill == model.BackfillReserve {
		return true
	}
	return !p.order.Steady
}

// sooner returns the earlier of two instants; 0 is never.
func sooner(a, b model.Time) model.Time {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
