package sched

import (
	"slices"
	"time"
	"unique"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// candidate is a job of the problem.
type candidate struct {
	at      queue.SortKey
	key     state.QueueKey
	attempt model.AttemptKey // N is 0 while it waits
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

// owedBy lists what a layout keeps for waiting tasks.
func owedBy(b *builder, best *split.Layout) (out []owed) {
	p := b.pass
	for n, until := range best.Until {
		if until > 0 {
			out = append(out, owed{to: b.all[best.For].key, node: b.nodes[n], gpus: everyGPU, from: p.now.Add(time.Duration(until) * time.Second)})
		}
	}
	for i := range b.all {
		c := &b.all[i]
		if c.attempt.N > 0 || p.done[c.key.Task] {
			continue
		}
		for _, v := range best.Places[i] {
			out = append(out, owed{to: c.key, node: b.nodes[v.Node], gpus: uint32(v.GPUs)})
		}
	}
	return out
}

// spent reports whether a task was stopped for others as often as its run time has earned.
func spent(task *model.Task, a *model.Attempt, t *model.Tuning, now model.Time) bool {
	return queue.EarningTime(task, admission.Executed(task, a, now), t) > 0
}
