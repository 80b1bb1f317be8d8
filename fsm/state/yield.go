package state

import "github.com/berth-gpu/berth/fsm/model"

// Yields reports whether a job without a setting of its own may be suspended for others: its user's setting
// counts, otherwise its project's, otherwise the cluster's; otherwise jobs may be suspended that save their
// work at a checkpoint signal.
func Yields(s *State, spec *model.Spec) bool {
	for _, scope := range []model.ScopeKey{
		{Kind: model.ScopeUser, Name: spec.User}, {Kind: model.ScopeProject, Name: spec.Project}, {Kind: model.ScopeCluster},
	} {
		if l, _ := s.Limits.Get(scope); l.Yields != model.YieldUnsaid {
			return l.Yields == model.YieldAlways
		}
	}
	return spec.CheckpointSignal != ""
}
