package explain

import (
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// pass tries whether a job of one task that is kept off a large job's nodes would start if it ended in time, or
// could be suspended.
func (t *trial) pass(b *blocker.Blocker) {
	if t.task.IsTurn() {
		return // nothing bounds how long a service has its GPUs
	}
	job := &admission.TicketOf(t.state, t.task).Job
	if job.Array() || job.Waits > 0 {
		return
	}
	// A limit counts as up to a tenth more, because run times go in steps. Where a task at the wait bound waits, the
	// limit counts as up to twice as much.
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

// again reports whether a job of one task is placed if the job is canceled and submitted again.
func (t *trial) again(job model.JobID, spec *model.Spec) bool {
	next, done := t.carry(&command.Cancel{Job: job, Task: model.AllTasks}, &command.Submit{Spec: *spec, Tasks: 1})
	if !done {
		return false
	}
	task := model.TaskKey{Job: t.state.Settings().NextJob}
	v := sched.Judge(&next, t.now, admission.TicketOf(&next, task))
	return v.Placed()
}
