package apply

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/fleet"
	"github.com/berth-gpu/berth/fsm/state/digest"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Redundant reports whether an inventory would be accepted and change no row: its agent is answered without a
// log entry then. An inventory whose application panics is not redundant.
func Redundant(s *state.State, b *command.Inventory) (redundant bool) {
	defer func() {
		if recover() != nil {
			redundant = false
		}
	}()
	clock := s.Settings().Clock
	t := tx.Begin(s, state.Meta{Index: s.Index, Term: s.Term, At: clock})
	t.Clock = clock
	if r := fleet.Inventory(t, b); !r.OK() {
		return false
	}
	c := digest.NewCommit(s.Fingerprint, model.Hash{})
	for _, cell := range t.List {
		cell.Commit(c)
	}
	return c.Digest.Sums == s.Fingerprint.Sums && t.Settings == s.Settings() && len(t.News.List) == 0
}
