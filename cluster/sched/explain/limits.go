package explain

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// fewer tries whether a job of one task that is larger than a limit starts with as many GPUs as the limit has room
// for.
func (t *trial) fewer(b *blocker.Blocker) {
	if t.task.IsTurn() || !b.Oversized() {
		return
	}
	job := &admission.TicketOf(t.state, t.task).Job
	spec := job.Spec
	spec.MinGPUs = uint32(b.Limit)
	if b.Limit > 0 && !job.Array() && job.Waits == 0 && t.again(job.ID, &spec) {
		t.found = append(t.found, Unblock{Kind: UnblockFewer, MinGPUs: spec.MinGPUs})
	}
}

// lend tries what would give a task room in its pool: a greater guarantee, or GPUs that all users may use.
func (t *trial) lend(b *blocker.Blocker) {
	job := &admission.TicketOf(t.state, t.task).Job
	spec := &job.Spec
	if p := t.state.PoolOf(spec.Project, spec.User); p.Reserved > 0 {
		limit, _ := t.state.Limits.Get(b.Scope)
		limit.Reserved = p.Own + int64(spec.GPUs)
		t.offer(Unblock{Kind: UnblockLimit, Limit: limit, Of: blocker.LimitReserved}, &command.SetLimit{Limit: limit})
	}
	t.offer(Unblock{Kind: UnblockPool}, &command.SetPools{Mode: model.PoolDynamic})
}

// ofPool lists the holders of GPUs that would leave room in a pool by ending.
func (q *question) ofPool(b *blocker.Blocker) []holding {
	return q.ofScopes(func(project, user string) bool {
		p := q.state.PoolOf(project, user)
		return p.Owner == b.Scope || b.Of == model.PoolHybrid.String() && p.Own > p.Reserved
	})
}
