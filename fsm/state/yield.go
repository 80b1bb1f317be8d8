package state

import "github.com/berth-gpu/berth/fsm/model"

// Yields reports whether a job that does not say so itself may be suspended for others:
// what is said of its user counts, else what of its project, else what of the cluster;
// else jobs may that are told to save their work by a checkpoint signal.
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
