package leader

import (
	"maps"
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Beats is when this peer last heard the clients of attached jobs.
type Beats interface {
	// Last returns that instant, by the boot clock; 0: never.
	Last(job model.JobID) time.Duration
	// Keep drops the jobs for which job returns false.
	Keep(job func(model.JobID) bool)
}

// cancelAbandoned returns the decider that cancels attached jobs whose clients are silent. What former
// leaders heard is unknown: silence counts from when this leader first saw the job.
func cancelAbandoned(c *Config) func(*state.State) ([]command.Body, time.Duration) {
	met := map[model.JobID]time.Duration{}
	return func(s *state.State) (out []command.Body, next time.Duration) {
		next = liveness.Never
		if c.Beats == nil {
			return nil, next
		}
		c.Beats.Keep(s.Attached.Has)
		maps.DeleteFunc(met, func(id model.JobID, _ time.Duration) bool { return !s.Attached.Has(id) })
		now := c.Clock.Boot()
		for id := range s.Attached.All() {
			job, _ := s.Jobs.Get(id)
			if met[id] == 0 {
				met[id] = now
			}
			silent := now - max(c.Beats.Last(id), met[id])
			switch {
			case silent < job.Spec.Attached:
				next = min(next, job.Spec.Attached-silent)
			case unstopped(s, id, model.ReasonCancel):
				out = append(out, &command.Cancel{
					Job: id, Task: model.AllTasks, Note: "its client was not heard for " + job.Spec.Attached.String(),
				})
			}
		}
		return out, next
	}
}

// unstopped reports whether some task of a job waits, or is not yet being stopped for a reason that is at
// least as strong.
func unstopped(s *state.State, id model.JobID, why model.Reason) bool {
	for k, task := range s.Tasks.From(model.TaskKey{Job: id}) {
		if k.Job != id {
			break
		}
		a, _ := s.Attempts.Get(task.Newest())
		if task.State == model.TaskQueued || task.State.Live() && why.Outranks(a.Stop) {
			return true
		}
	}
	return false
}
