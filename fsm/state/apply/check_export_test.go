package apply

import "github.com/berth-gpu/berth/fsm/state"

// Checks are the checks of invariants, for tests inside the package.
type Checks struct {
	State func(*state.State) error
	Move  func(before, after *state.State) error
}

// Miscount has a state count a GPU too many that is fit for work.
func Miscount(s *state.State) { s.FitGPUs++ }
