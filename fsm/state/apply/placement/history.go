package placement

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// compare counts how right the expected run time of a placed attempt was, if it ended by itself: it ran for
// so long, after its task had executed for that long. Jobs without GPUs do not count, since the order of jobs with
// GPUs follows from these counts.
func compare(t *tx.Tx, task *model.Task, spec *model.Spec, a *model.Attempt, executed, ran time.Duration) {
	if a.End != model.ReasonExit || ran <= 0 || a.GPUs != spec.GPUs || spec.WithoutGPUs() {
		return
	}
	n := &t.Settings.Totals
	made, good, off := &n.Histories, &n.HistoriesNear, &n.HistoriesOff
	switch {
	case spec.Estimate > 0:
		made, good, off = &n.Estimates, &n.EstimatesNear, &n.EstimatesOff
		n.Truth.Note(spec.Estimate, executed+ran)
		if s, known := t.Shares.Get(model.ShareKey{Project: spec.Project, User: spec.User}); known {
			s.Truth.Note(spec.Estimate, executed+ran)
			t.Shares.Put(s)
		}
	case task.Expected == state.Expect(spec, &model.Sketch{}, executed):
		return // no prediction without known runs
	}
	steps, near := model.PredictionError(task.Expected, ran)
	*made++
	*off += steps
	if near {
		*good++
	}
}

// endName returns the name under which the run time of an attempt that has ended counts.
func endName(a *model.Attempt) string {
	switch {
	case a.State == model.TaskCompleted:
		return "completed"
	case a.End == model.ReasonPreempt, a.End == model.ReasonDrain, a.End == model.ReasonRequeue:
		return "preempted"
	case a.End == model.ReasonCancel:
		return "canceled"
	case a.End == model.ReasonExit, a.End == model.ReasonTimeLimit, a.End == model.ReasonDeadline, a.End == model.ReasonDiskLimit:
		return "failed"
	}
	return "lost"
}
