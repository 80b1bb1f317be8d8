package sched

import (
	"slices"
	"unique"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxSuspend bounds the attempts of one command.
const maxSuspend = 1024

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

// candidate is a job of the problem.
type candidate struct {
	at      queue.SortKey
	key     state.QueueKey
	attempt model.AttemptKey // N is 0 while it waits
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

// searchFor plans which jobs should run, suspends running jobs that should not run any more, and starts jobs for
// which GPUs are free. It adds the running jobs to what preemptors may take, and returns the outlook if one is asked
// for.
func searchFor(p *pass, m *preemption) *Outlook {
	p.order.Strict = p.order.Strict || !p.order.Policy.Bounded && p.order.AnyUrgent()
	b := newBuilder(p)
	b.running(m)
	stuck := b.stuck()
	if stuck && !p.found.looks && !p.mayPreempt() {
		return nil
	}
	lines := b.waiting()
	problem := b.problem(lines)
	best := split.Choose(problem)
	if best.Short {
		lines.all()
		b.arrange(problem, lines)
		best = split.Choose(problem)
	}
	if !stuck {
		carryOut(b, problem, &best)
	}
	p.found.owed = owedBy(b, &best)
	if p.found.looks {
		return outlookOf(b, problem, &best)
	}
	return nil
}

// carryOut adds the commands that bring a layout about.
func carryOut(b *builder, problem *split.Problem, best *split.Layout) {
	p := b.pass
	if !problem.Ordered {
		p.found.gangs = uint32(best.Gangs)
	}
	p.found.planned = map[model.TaskKey]unique.Handle[state.Run]{}
	var stop []model.AttemptKey
	for i, c := range b.all {
		at := best.Places[i]
		if job := &problem.Jobs[i]; c.attempt.N > 0 && !job.Locked && !slices.Equal(at, job.Place) {
			stop = append(stop, c.attempt)
		} else if c.attempt.N == 0 && at != nil {
			p.found.planned[c.key.Task] = c.key.Run
			if parts, open := p.pool.partsAt(sharesOn(b.nodes, at)); open {
				p.startAt(admission.TicketOf(p.state, c.key.Task), parts)
			}
		}
	}
	p.found.stops += len(stop)
	for some := range slices.Chunk(stop, maxSuspend) {
		p.commands = append(p.commands, &command.Suspend{Attempts: some, Decided: p.state.Index})
	}
	p.startClaimants(false)
}

// startAt places a waiting task where a layout has it, if its GPUs are free there and bookings leave them to the
// task now.
func (p *pass) startAt(t *admission.Ticket, parts []part) bool {
	if p.full() {
		return false
	}
	w := p.wantOf(t)
	w.until = 0
	if !w.holdsAll(p.pool, parts) || !p.admits(t) {
		return false
	}
	var gpus uint32
	for _, v := range parts {
		gpus += v.n
	}
	if spec := &t.Job.Spec; !p.budget.Allows(spec.Project, spec.User, gpus, t.LiveTasks()) {
		return false
	}
	p.add(t, p.pool.takeParts(&w, parts))
	return true
}

// holdsAll reports whether all parts are free for a task, and bookings leave them to the task.
func (w *want) holdsAll(p *pool, parts []part) bool {
	enough := func(v part) bool { return p.count(v.host, w) >= v.n }
	if w.keep == nil {
		return !slices.ContainsFunc(parts, func(v part) bool { return !enough(v) })
	}
	for to := range ruleCount {
		w.keep.setRule(to)
		if !slices.ContainsFunc(parts, func(v part) bool { return !enough(v) }) && w.keep.allows(w.lots(parts)...) {
			return true
		}
	}
	return false
}
