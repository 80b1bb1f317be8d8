package state

import "github.com/berth-gpu/berth/fsm/model"

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
	for k := range s.LiveTasks.From(model.TaskKey{Job: id}) {
		if k.Job != id || at == model.TaskRunning {
			break
		}
		t, _ := s.Tasks.Get(k)
		at = max(at, t.State)
	}
	return at
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
func (s *State) DependenciesOf(id model.JobID) (out []model.Dependency) {
	for k, d := range s.Dependencies.From(model.DependencyKey{Job: id}) {
		if k.Job != id {
			break
		}
		out = append(out, d)
	}
	return out
}
