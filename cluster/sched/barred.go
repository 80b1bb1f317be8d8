package sched

import (
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// barred says for whom a search keeps the nodes on which a task would fit.
func barred(p *pass, w *want) blocker.Blocker {
	b := blocker.Blocker{Code: blocker.CodeBarred, Need: int64(w.need), Nodes: int64(w.nodes)}
	for _, v := range p.found.owed {
		if v.gpus != everyGPU {
			continue
		}
		b.Have++
		b.Until, b.Task, b.Service = v.from, v.to.Task, admission.TicketOf(p.state, v.to.Task).Service
		if p.order.Drains(v.to) {
			b.Until = 0 // whatever is expected
		}
	}
	return b
}

// pass tries whether a job of one task that is kept off a gang's nodes starts if it ends in time, or
// may be suspended.
func (t *trial) pass(b *blocker.Blocker) {
	if t.task.IsTurn() {
		return // nothing bounds how long a service has its GPUs
	}
	job := &admission.TicketOf(t.state, t.task).Job
	if job.Array() || job.Waits > 0 {
		return
	}
	// A limit counts as up to a tenth more, as run times go in steps; and to those at the wait bound up to
	// twice as much.
	for _, part := range []time.Duration{9, 4} {
		spec, limit := job.Spec, (b.Until.Sub(t.now) * part / 10).Truncate(time.Minute)
		if limit <= 0 || spec.TimeLimit > 0 && spec.TimeLimit <= limit {
			break
		}
		if spec.TimeLimit = limit; t.again(job.ID, &spec) {
			t.found = append(t.found, Unblock{Kind: UnblockTime, TimeLimit: limit})
			break
		}
	}
	if spec := job.Spec; !spec.Preemptible {
		if spec.Preemptible = true; t.again(job.ID, &spec) {
			t.found = append(t.found, Unblock{Kind: UnblockYield})
		}
	}
}

// again says that a job of one task is placed if it is canceled and submitted anew.
func (t *trial) again(job model.JobID, spec *model.Spec) bool {
	next, done := t.carry(&command.Cancel{Job: job, Task: command.AllTasks}, &command.Submit{Spec: *spec, Tasks: 1})
	if !done {
		return false
	}
	task := model.TaskKey{Job: t.state.Settings().NextJob}
	v := judge(&next, t.now, admission.TicketOf(&next, task))
	return v.placed()
}
