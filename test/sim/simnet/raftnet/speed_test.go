package raftnet_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// TestSimulationIsCheap keeps virtual time cheap, for a cluster's half minute with ten writes a second. What it
// allocates stands for all that is done in it: unlike time, that is the same on a busy machine and with the race
// detector. The bounds are half as much again as it was; the log has the speed.
func TestSimulationIsCheap(t *testing.T) {
	for commit, most := range map[time.Duration]uint64{50 * ms: 260_000, 5 * ms: 800_000} {
		before, start := allocated(), time.Now()
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
		made := allocated() - before
		t.Logf("commit timeout %v: %d objects, %.0f virtual seconds a second", commit, made, 30/time.Since(start).Seconds())
		if made > most {
			t.Errorf("commit timeout %v: %d objects were allocated, want %d at most", commit, made, most)
		}
	}
}

// allocated counts objects since the program's start.
func allocated() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.Mallocs
}
