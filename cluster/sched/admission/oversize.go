package admission

import (
	"fmt"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Oversized returns, for each limit that even the fewest GPUs of a job exceed, or the cores of a job without GPUs, that the job may not
// start, no matter what else runs. Such a job is not refused, because limits may be raised.
func Oversized(s *state.State, spec *model.Spec) (out []string) {
	for _, scope := range Scopes(spec.Project, spec.User) {
		limit, found := state.LimitOf(s, scope)
		if cpus := int64(spec.Holds().CPUs) * int64(max(spec.Nodes, 1)); found && limit.CPUs != model.Unlimited && cpus > limit.CPUs {
			out = append(out, fmt.Sprintf("may not start: jobs without GPUs of %s may hold %s at once, this needs %d: have max_cpus of %s raised, or ask "+
				"for fewer", scope, blocker.Count(limit.CPUs, "core"), cpus, scope))
		}
		if least := spec.Least(); found && limit.GPUs != model.Unlimited && int64(least) > limit.GPUs {
			out = append(out, fmt.Sprintf("may not start: %s may use %s at once, this needs %d: have gpus of %s raised, or ask for fewer%s",
				scope, blocker.Count(limit.GPUs, "GPU"), least, scope, blocker.FewerOption(limit.GPUs)))
		}
	}
	return out
}
