package state

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// compare counts how right the expected run time of a placed attempt was, if it ended by itself: it ran for
// so long, after its task had executed for that long.
func compare(t *tx, task *model.Task, spec *model.Spec, a *model.Attempt, executed, ran time.Duration) {
	if a.End != model.ReasonExit || ran <= 0 || a.GPUs != spec.GPUs {
		return
	}
	n := &t.settings.Totals
	made, good, off := &n.Histories, &n.HistoriesNear, &n.HistoriesOff
	switch {
	case spec.Estimate > 0:
		made, good, off = &n.Estimates, &n.EstimatesNear, &n.EstimatesOff
		n.Truth.Note(spec.Estimate, executed+ran)
		if s, known := t.shares.get(model.ShareKey{Project: spec.Project, User: spec.User}); known {
			s.Truth.Note(spec.Estimate, executed+ran)
			t.shares.put(s)
		}
	case task.Expected == Expect(spec, &model.Sketch{}, executed):
		return // no prediction without known runs
	}
	steps, near := model.PredictionError(task.Expected, ran)
	*made++
	*off += steps
	if near {
		*good++
	}
}

// Told returns how much longer a task takes whose user has estimated its run time and that has executed for
// so long, as far as such estimates have been right: of the user's earlier runs, otherwise of all users'.
// False if too few are known.
func Told(s *State, spec *model.Spec, executed time.Duration) (left model.Span, known bool) {
	if spec.Estimate == 0 {
		return left, false
	}
	share, _ := s.Shares.Get(model.ShareKey{Project: spec.Project, User: spec.User})
	if left, known = share.Truth.Left(spec.Estimate, executed); known {
		return left, true
	}
	all := s.Settings().Totals.Truth
	return all.Left(spec.Estimate, executed)
}
