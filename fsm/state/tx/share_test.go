package tx

import (
	"fmt"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// At the most remembered users, one without GPUs makes room for the next: a user with GPUs is remembered in any
// case, or its use could not be counted.
func TestWhoHoldsGPUsIsNotForgotten(t *testing.T) {
	x := Begin(&state.State{}, state.Meta{Index: 1, Term: 1, At: 1})
	key := func(i int) model.ShareKey { return model.ShareKey{User: fmt.Sprintf("u%05d", i)} }
	const idle = 7
	for i := range state.MaxShares {
		s := model.Share{Key: key(i), GPUs: 1}
		if i == idle {
			s.GPUs = 0
		}
		x.Shares.Put(s)
	}
	for _, user := range []string{"first", "second"} {
		account(x, "", user, 2)
		if s, _ := x.Shares.Get(model.ShareKey{User: user}); s.GPUs != 2 {
			t.Errorf("%s holds %d GPUs, want 2", user, s.GPUs)
		}
	}
	for i := range state.MaxShares {
		if x.Shares.Has(key(i)) == (i == idle) {
			t.Errorf("user %d is remembered: %v", i, i == idle)
		}
	}
}
