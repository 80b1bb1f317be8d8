package state_test

import (
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
)

// The tests inside the package cannot import the checks, which import the package.
func init() { state.Check, state.CheckMove = check.State, check.Move }
