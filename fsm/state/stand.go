package state

import (
	"iter"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// Stand returns the state of a job as a whole; every answer about a whole array goes by it. As long as tasks
// are live it is that of the most advanced one (scheduled, allocating or running), otherwise queued while
// some wait, otherwise failed if any failed, canceled if any was canceled, and completed if all completed.
func (s *State) Stand(j *model.Job) model.TaskState {
	switch {
	case j.Live > 0:
		return mostAdvanced(s, j.ID)
	case j.Open > 0:
		return model.TaskQueued
	case j.Failed > 0:
		return model.TaskFailed
	case j.Canceled > 0:
		return model.TaskCanceled
	}
	return model.TaskCompleted
}

func mostAdvanced(s *State, id model.JobID) model.TaskState {
	at := model.TaskScheduled
	live := s.LiveTasks
	if job, _ := s.Jobs.Get(id); job.Spec.WithoutGPUs() {
		live = s.LiveCPU
	}
	for k := range live.From(model.TaskKey{Job: id}) {
		if k.Job != id || at == model.TaskRunning {
			break
		}
		t, _ := s.Tasks.Get(k)
		at = max(at, t.State)
	}
	return at
}

// Live yields the tasks with a live attempt, with GPUs and without, in order.
func (s *State) Live() iter.Seq[model.TaskKey] {
	return func(yield func(model.TaskKey) bool) {
		next, stop := iter.Pull2(s.LiveCPU.All())
		defer stop()
		other, _, more := next()
		for k := range s.LiveTasks.All() {
			for more && other.Compare(k) < 0 {
				if !yield(other) {
					return
				}
				other, _, more = next()
			}
			if !yield(k) {
				return
			}
		}
		for more && yield(other) {
			other, _, more = next()
		}
	}
}

// FirstTask returns the task of a job with the smallest number; false if there is no such
// job.
func (s *State) FirstTask(id model.JobID) (model.Task, bool) {
	for k, task := range s.Tasks.From(model.TaskKey{Job: id}) {
		return task, k.Job == id
	}
	return model.Task{}, false
}

// DependenciesOf returns what a job waits or has waited for, by job.
func (s *State) DependenciesOf(id model.JobID) (out []dependency.Row) {
	for k, d := range s.Dependencies.From(dependency.Key{Job: id}) {
		if k.Job != id {
			break
		}
		out = append(out, d)
	}
	return out
}

// Exceeds reports whether an addition to the use would exceed a limit.
func Exceeds(limit int64, used, add uint32) bool {
	return limit != model.Unlimited && int64(used)+int64(add) > limit
}

// AsPlaced returns a spec as bookings count it once it is placed: one without a time limit gets the longest
// that it may have.
func AsPlaced(s *State, spec *model.Spec) *model.Spec {
	return PlacedFrom(s.Limits.Get, spec)
}

// Whose returns the name by which nodes are looked up that run a user's jobs: empty if all nodes do, and the
// same for all users whose account no node lacks and that have no node's account of the same name.
func (s *State) Whose(user string) string {
	switch {
	case names(s.Lacking, user), names(s.Private, user):
		return user
	case s.Private.Len() > 0:
		return model.Stranger
	}
	return ""
}

// names reports whether an index has nodes by a user.
func names(nodes table.Table[PrivateKey, None], user string) bool {
	for k := range nodes.From(PrivateKey{User: user}) {
		return k.User == user
	}
	return false
}

// AllocatedFor returns the allocation that has not ended and is for a user, as named by its requester.
func AllocatedFor(s *State, who string) (model.Allocation, bool) {
	for k := range s.HeldFor.From(HeldForKey{For: who}) {
		if k.For != who {
			break
		}
		return s.Allocations.Get(k.ID)
	}
	return model.Allocation{}, false
}
