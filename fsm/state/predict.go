package state

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// compare counts how right the run time was that an attempt was placed with, if it
// ended by itself: it ran for so long, after its task had executed for that long.
func compare(t *tx, task *model.Task, spec *model.Spec, a *model.Attempt, executed, ran time.Duration) {
	if a.End != model.ReasonExit || ran <= 0 || a.GPUs != spec.GPUs {
		return
	}
	n := &t.settings.Totals
	made, good, off := &n.Histories, &n.HistoriesNear, &n.HistoriesOff
	switch {
	case spec.Estimate > 0:
		made, good, off = &n.Estimates, &n.EstimatesNear, &n.EstimatesOff
	case task.Expected == Expect(spec, &model.Sketch{}, executed):
		return // nothing was known: nothing was predicted
	}
	steps, near := model.PredictionError(task.Expected, ran)
	*made++
	*off += steps
	if near {
		*good++
	}
}
