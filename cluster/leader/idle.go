package leader

import (
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// idlePause is the interval between two checks of all running jobs' use of their GPUs.
const idlePause = 15 * time.Second

// cancelIdle returns the decider that cancels jobs that hold all of their GPUs at 0 % for as long as they
// allow. Nodes report since when they do: this decider remembers nothing.
func cancelIdle(c *Config) func(*state.State) ([]command.Body, time.Duration) {
	var again time.Duration // when to look again, by the boot clock
	return func(s *state.State) (out []command.Body, next time.Duration) {
		if c.Unused == nil {
			return nil, liveness.Never
		}
		now := c.Clock.Boot()
		if now < again {
			return nil, again - now
		}
		again = now + idlePause
		watched := false
		for k := range s.NodeRanks.All() {
			job, _ := s.Jobs.Get(k.Rank.Job)
			if k.Rank.Rank != 0 || job.Spec.IdleStop == 0 { // of a gang, once
				continue
			}
			watched = true
			if a, _ := s.Attempts.Get(k.Rank.Attempt()); idles(c, s, &a, job.Spec.IdleStop) {
				out = append(out, &command.Cancel{
					Job: k.Rank.Job, Task: int64(k.Rank.Task), Note: "its GPUs were at 0 % for " + job.Spec.IdleStop.String() + " (idle_stop)",
				})
			}
		}
		if !watched {
			return nil, liveness.Never
		}
		return out, idlePause
	}
}

// idles reports whether an attempt runs, and has left each of its GPUs at 0 % for so long.
func idles(c *Config, s *state.State, a *model.Attempt, long time.Duration) bool {
	if a.State != model.TaskRunning || a.Stop != model.ReasonNone {
		return false
	}
	for _, r := range s.RanksOf(a.Key) {
		for _, slot := range s.SlotsOf(r.Key) {
			if c.Unused(r.Node, slot.GPU) < long {
				return false
			}
		}
	}
	return true
}
