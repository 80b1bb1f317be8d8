package state

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

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
