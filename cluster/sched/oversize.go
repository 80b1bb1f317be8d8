package sched

import (
	"fmt"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Oversized says of the limits that a job's least GPUs are beyond, whatever else runs, that it
// may not start: limits may be raised, so it is not refused.
func Oversized(s *state.State, spec *model.Spec) (out []string) {
	for _, scope := range scopes(spec.Project, spec.User) {
		limit, found := state.LimitOf(s, scope)
		if least := spec.Least(); found && limit.GPUs != model.Unlimited && int64(least) > limit.GPUs {
			out = append(out, fmt.Sprintf("may not start: %s may use %s at once, this needs %d: have gpus of %s raised, or ask for fewer%s",
				scope, count(limit.GPUs, "GPU"), least, scope, orFewer(limit.GPUs)))
		}
	}
	return out
}

// orFewer names the option with which a job takes what a limit leaves.
func orFewer(limit int64) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf(" (--min-gpus %d)", limit)
}

// oversized says that a limit has no room for the task whatever else runs.
func (b *Blocker) oversized() bool {
	return b.Code == CodeLimit && b.Of == LimitGPUs && b.Need > b.Limit
}

// wayOut is what helps who needs more GPUs than a limit allows at all, and so never starts by
// itself.
func (b *Blocker) wayOut() string {
	if !b.oversized() {
		return ""
	}
	return fmt.Sprintf(": it never starts unless that is raised, or it takes fewer%s", orFewer(b.Limit))
}

// fewer tries whether a job of one task that is larger than a limit starts with as many GPUs as
// that has room for.
func (t *trial) fewer(b *Blocker) {
	if t.task.IsTurn() || !b.oversized() {
		return
	}
	job := &ticketOf(t.state, t.task).job
	spec := job.Spec
	spec.MinGPUs = uint32(b.Limit) //nolint:gosec // less than it needs
	if b.Limit > 0 && !job.Array() && job.Waits == 0 && t.again(job.ID, &spec) {
		t.found = append(t.found, Unblock{Kind: UnblockFewer, MinGPUs: spec.MinGPUs})
	}
}
