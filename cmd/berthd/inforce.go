package main

import (
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// inForce returns the cluster's settings that are in force in a state.
func inForce(s *state.State) config.Cluster {
	limit, limited := s.Limits.Get(model.ScopeKey{Kind: model.ScopeCluster})
	return config.ClusterOf(s.Settings(), limit, limited)
}
