package check

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// adopted reports whether an attempt was foreign, and is one of this state's now: it holds a slot that it held before.
func (m *mover) adopted(k model.AttemptKey) bool {
	for _, d := range table.Diffs(m.was.Slots, m.s.Slots) {
		if d.Was && d.Is && d.After.Owner == model.OwnerAttempt && d.After.Rank.Attempt() == k &&
			(d.Before.Owner == model.OwnerForeign && d.Before.Rank == d.After.Rank || !m.one) {
			return true
		}
	}
	return false
}

// adoptedTask reports whether the newest attempt of a task of a job was foreign.
func (m *mover) adoptedTask(id model.JobID) bool {
	for k, task := range m.s.Tasks.From(model.TaskKey{Job: id}) {
		if k.Job != id {
			break
		}
		if task.Attempts > 0 && m.adopted(task.Newest()) {
			return true
		}
	}
	return false
}
