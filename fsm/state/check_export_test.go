package state

import (
	"reflect"

	"github.com/berth-gpu/berth/fsm/model"
)

// Checks are the checks of invariants, for tests inside the package.
type Checks struct {
	State func(*State) error
	Move  func(before, after *State) error
}

// Miscount has a state count a GPU too many that is fit for work.
func Miscount(s *State) { s.FitGPUs++ }

// Reseal gives a state whose rows a test has broken the indexes and the digest of
// those rows, so that only what was broken is left to be found.
func Reseal(s State) (State, error) {
	t := begin(&State{}, Meta{Index: s.Index, Term: s.Term})
	t.restoring = true
	c := newCommit(digest{chain: s.digest.chain}, model.Hash{})
	from := begin(&s, Meta{}).list
	for i, cell := range t.list {
		for row := range from[i].rows() {
			err := cell.load(c, func(into any) error {
				reflect.ValueOf(into).Elem().Set(reflect.ValueOf(row).Elem())
				return nil
			})
			if err != nil {
				return State{}, err
			}
		}
	}
	return t.close(c.digest), nil
}
