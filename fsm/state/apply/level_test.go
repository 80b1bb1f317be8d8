package apply

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// A command whose kind needs a later feature level is refused.
func TestKindsNeedALevel(t *testing.T) {
	t.Parallel()
	c, err := command.New("user:ann", &command.Resume{})
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[uint32]model.Code{c.Kind().Level() - 1: model.CodeLevel, c.Kind().Level(): model.CodeOK} {
		x := tx.Begin(&state.State{}, state.Meta{Index: 1, Term: 1, At: 1})
		x.Settings.Incarnation, x.Settings.Level, x.Clock = model.Incarnation{1}, level, 1
		if r := appliers.run(x, &c); r.Code != want {
			t.Errorf("%s at level %d: %+v, want %s", c.Kind(), level, r, want)
		}
	}
}
