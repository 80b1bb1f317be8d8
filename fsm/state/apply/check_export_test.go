package apply

import (
	"reflect"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/digest"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Checks are the checks of invariants, for tests inside the package.
type Checks struct {
	State func(*state.State) error
	Move  func(before, after *state.State) error
}

// Miscount has a state count a GPU too many that is fit for work.
func Miscount(s *state.State) { s.FitGPUs++ }

// Reseal gives a state whose rows a test has broken the indexes and the digest of
// those rows, so that only what was broken is left to be found.
func Reseal(s state.State) (state.State, error) {
	t := tx.Begin(&state.State{}, state.Meta{Index: s.Index, Term: s.Term})
	t.Restoring = true
	c := digest.NewCommit(digest.Digest{Chain: s.Fingerprint.Chain}, model.Hash{})
	from := tx.Begin(&s, state.Meta{}).List
	for i, cell := range t.List {
		for row := range from[i].Rows() {
			err := cell.Load(c, func(into any) error {
				reflect.ValueOf(into).Elem().Set(reflect.ValueOf(row).Elem())
				return nil
			})
			if err != nil {
				return state.State{}, err
			}
		}
	}
	return t.Close(c.Digest), nil
}
