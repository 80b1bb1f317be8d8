package apply_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// What is nearest to a job says whether it may be suspended, if it does not itself.
func TestYields(t *testing.T) {
	c := statetest.New(t)
	alice := model.ScopeKey{Kind: model.ScopeUser, Name: "alice"}
	vision := model.ScopeKey{Kind: model.ScopeProject, Name: "vision"}
	whole := model.ScopeKey{Kind: model.ScopeCluster}
	plain := model.Spec{User: "alice"}
	within, saved := plain, plain
	within.Project, saved.CheckpointSignal = "vision", "USR1"
	for i, v := range []struct {
		scope                 model.ScopeKey
		value                 int64
		plain, within, signal bool
	}{
		{whole, model.Unlimited, false, false, true},
		{whole, 0, false, false, false},
		{vision, 1, false, true, false},
		{whole, 1, true, true, true},
		{alice, 0, false, false, false},
		{vision, 0, false, false, false},
		{alice, 1, true, true, true},
		{alice, model.Unlimited, true, false, true},
	} {
		c.Do(&command.AdjustLimit{Scope: v.scope, Set: []model.LimitValue{{Of: model.LimitYields, Value: v.value}}})
		if a, b, d := state.Yields(&c.State, &plain), state.Yields(&c.State, &within),
			state.Yields(&c.State, &saved); a != v.plain || b != v.within || d != v.signal {
			t.Errorf("step %d: a plain job %t, one of the project %t, one with a signal %t", i, a, b, d)
		}
	}
	if _, found := c.State.Limits.Get(alice); found {
		t.Error("a limit that says nothing is kept")
	}
	for _, value := range []int64{2, -2, 1 << 40} {
		b := &command.AdjustLimit{Scope: whole, Set: []model.LimitValue{{Of: model.LimitYields, Value: value}}}
		if err := b.Validate(); err == nil {
			t.Errorf("%d is taken", value)
		}
	}
	wrong := model.NoLimit(whole)
	if wrong.Yields = 3; wrong.Validate() == nil {
		t.Error("a limit that says neither is taken")
	}
}
