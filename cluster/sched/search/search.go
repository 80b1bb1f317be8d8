package search

import (
	"slices"
	"time"
	"unique"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/preemption"
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

// Run plans which jobs should run, suspends running jobs that should not run any more, and starts jobs for
// which GPUs are free. It adds the running jobs to what preemptors may take, and returns the outlook if the pass
// needs one; nil otherwise.
func Run(p *pass.Pass, m *preemption.Step) *Outlook {
	p.Order.Strict = p.Order.Strict || !p.Order.Policy.Bounded && p.Order.AnyUrgent()
	b := newBuilder(p)
	b.running(m)
	stuck := b.stuck()
	if stuck && !p.Found.NeedsOutlook && !p.MayPreempt() {
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
	p.Found.Kept = keptBy(b, &best)
	if p.Found.NeedsOutlook {
		return outlookOf(b, problem, &best)
	}
	return nil
}

// carryOut adds the commands that bring a layout about.
func carryOut(b *builder, problem *split.Problem, best *split.Layout) {
	p := b.pass
	if !problem.Ordered {
		p.Found.GangNodes = uint32(best.Gangs)
	}
	p.Found.ToRun = map[model.TaskKey]unique.Handle[state.Run]{}
	var stop []model.AttemptKey
	for i, c := range b.all {
		at := best.Places[i]
		if job := &problem.Jobs[i]; c.attempt.N > 0 && !job.Locked && !slices.Equal(at, job.Place) {
			stop = append(stop, c.attempt)
		} else if c.attempt.N == 0 && at != nil {
			p.Found.ToRun[c.key.Task] = c.key.Run
			if parts, open := p.Free.PartsAt(sharesOn(b.nodes, at)); open {
				p.StartAt(admission.TicketOf(p.State, c.key.Task), parts)
			}
		}
	}
	p.Found.Suspended += len(stop)
	for some := range slices.Chunk(stop, pass.MaxSuspend) {
		p.Commands = append(p.Commands, &command.Suspend{Attempts: some, Decided: p.State.Index})
	}
	p.StartClaimants(false)
}

// keptBy lists what a layout keeps for waiting tasks.
func keptBy(b *builder, best *split.Layout) (out []pass.KeptGPUs) {
	p := b.pass
	for n, until := range best.Until {
		if until > 0 {
			out = append(out, pass.KeptGPUs{
				For: b.all[best.For].key, Node: b.nodes[n], GPUs: pass.AllGPUs,
				From: p.Now.Add(time.Duration(until) * time.Second),
			})
		}
	}
	for i := range b.all {
		c := &b.all[i]
		if c.attempt.N > 0 || p.Done[c.key.Task] {
			continue
		}
		for _, v := range best.Places[i] {
			out = append(out, pass.KeptGPUs{For: c.key, Node: b.nodes[v.Node], GPUs: uint32(v.GPUs)})
		}
	}
	return out
}

// spent reports whether a task was stopped for others as often as its run time has earned.
func spent(task *model.Task, a *model.Attempt, t *model.Tuning, now model.Time) bool {
	return queue.EarningTime(task, admission.Executed(task, a, now), t) > 0
}
