package state

import (
	"fmt"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

// At the most remembered users, one without GPUs makes room for the next: a user with GPUs is remembered in any
// case, or its use could not be counted.
func TestWhoHoldsGPUsIsNotForgotten(t *testing.T) {
	x := begin(&State{}, Meta{Index: 1, Term: 1, At: 1})
	key := func(i int) model.ShareKey { return model.ShareKey{User: fmt.Sprintf("u%05d", i)} }
	const idle = 7
	for i := range MaxShares {
		s := model.Share{Key: key(i), GPUs: 1}
		if i == idle {
			s.GPUs = 0
		}
		x.shares.put(s)
	}
	for _, user := range []string{"first", "second"} {
		account(x, "", user, 2)
		if s, _ := x.shares.get(model.ShareKey{User: user}); s.GPUs != 2 {
			t.Errorf("%s holds %d GPUs, want 2", user, s.GPUs)
		}
	}
	for i := range MaxShares {
		if x.shares.has(key(i)) == (i == idle) {
			t.Errorf("user %d is remembered: %v", i, i == idle)
		}
	}
}
