package schedtest

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

// Yields lets others suspend a job.
func Yields(s *model.Spec) { s.Preemptible = true }

// OnCores is a spec without GPUs.
func OnCores(s model.Spec, cpus, nodes uint32) model.Spec {
	s.GPUs, s.MinGPUs, s.GPUModel, s.GPUMemoryMB, s.Preemptible = 0, 0, "", 0, false
	s.CPUs, s.MemoryMB, s.Nodes = cpus, 1000*cpus, nodes
	return s
}

// Cores returns the spec of an ordinary job without GPUs.
func Cores(user string, cpus uint32) model.Spec { return OnCores(Spec(user, 0, 0), cpus, 0) }

// User returns the scope of a user.
func User(name string) model.ScopeKey { return model.ScopeKey{Kind: model.ScopeUser, Name: name} }

// Over is when it is over.
const Over = "from 2023-11-14T22:13:20Z to 2023-11-14T23:13:20Z"

// BothWays are the pass in order and the search.
func BothWays(t *testing.T, f func(t *testing.T, c *Cluster)) {
	t.Helper()
	for policy, backfill := range map[string]model.Backfill{"fcfs": model.BackfillSkip, "fair_share": model.BackfillReserve} {
		t.Run(policy, func(t *testing.T) {
			c := New(t, policy)
			c.Tune(func(t *model.Tuning) { t.Backfill = backfill })
			f(t, c)
		})
	}
}

// Where says on which nodes a job may run.
func Where(constraint, nodelist, exclude string) func(*model.Spec) {
	return func(s *model.Spec) { s.Constraint, s.Nodelist, s.Exclude = constraint, nodelist, exclude }
}

// Zones is a cluster of three nodes in two zones, of four GPUs each.
func Zones(t *testing.T, policy string) *Cluster {
	c := New(t, policy)
	c.labeled("n1", "zone=a", 4, "H100")
	c.labeled("n2", "spot,zone=b", 4, "A100")
	c.labeled("n3", "zone=b", 4, "H100")
	return c
}
