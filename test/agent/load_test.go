package agent_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// BenchmarkShortJobs is how long a job of "true" takes from its submission to its
// end, with eight at a time.
func BenchmarkShortJobs(b *testing.B) {
	c := newCluster(b)
	c.c.Unchecked = true
	newHost(b, c, "n1", 8).start(b)
	c.free(b, 8)
	began := time.Now()
	for b.Loop() {
		c.submit(b, func(*command.Submit) {})
	}
	c.until(b, "all jobs' ends", func(s *statetest.Cluster) bool {
		for k := range s.State.Tasks.All() {
			if t, _ := s.State.Tasks.Get(k); !t.State.Terminal() {
				return false
			}
		}
		return true
	})
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "jobs/s")
}

// BenchmarkOneJob is the same, one after the other.
func BenchmarkOneJob(b *testing.B) {
	c := newCluster(b)
	c.c.Unchecked = true
	newHost(b, c, "n1", 8).start(b)
	c.free(b, 8)
	for b.Loop() {
		job := c.submit(b, func(*command.Submit) {})
		c.until(b, "the end", func(s *statetest.Cluster) bool {
			t, _ := s.State.Tasks.Get(model.TaskKey{Job: job})
			return t.State.Terminal()
		})
	}
}
