package raftnet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// TestSimulationIsFast keeps virtual time cheap: a cluster's half minute with ten writes a second must take
// a small part of a second. The bound is loose, for busy machines and the race detector; the log has the figure.
func TestSimulationIsFast(t *testing.T) {
	for _, commit := range []time.Duration{50 * ms, 5 * ms} {
		start := time.Now()
		synctest.Test(t, func(t *testing.T) {
			c := startCluster(t, clusterConfig{seed: 1, tune: func(_ int, rc *raft.Config) { rc.CommitTimeout = commit }})
			leader := c.leader()
			for range 300 {
				if err := leader.apply("x"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * ms)
			}
			c.stop(t)
		})
		ratio := 30 / time.Since(start).Seconds()
		t.Logf("commit timeout %v: %.0f virtual seconds a second", commit, ratio)
		if ratio < 2 {
			t.Errorf("commit timeout %v: only %.0f virtual seconds a second", commit, ratio)
		}
	}
}
