package admin

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// CutRequests forgets request ids that are older than they have to be kept.
func CutRequests(t *tx.Tx, b *command.CutRequests) command.Result {
	if b.Before > t.Clock {
		return tx.Refuse(model.CodeInvalid, "the cut-off lies in the future")
	}
	t.Settings.RequestsFrom = max(t.Settings.RequestsFrom, b.Before)
	var old []model.RequestKey
	for _, from := range []state.BornKey{{}, state.FirstTimed} {
		for k := range t.Born.Now().From(from) {
			if k.Born >= b.Before || len(old) == command.MaxCut || from == (state.BornKey{}) && k.Request.Drawn > 0 {
				break
			}
			old = append(old, k.Request)
		}
	}
	for _, k := range old {
		t.Requests.Delete(k)
	}
	var idle []model.RequestUse
	for _, use := range t.RequestUse.Now().All() {
		if use.Timed+use.Untimed == 0 {
			idle = append(idle, use)
		}
	}
	for i := range idle {
		t.PutRequestUse(&idle[i])
	}
	return command.Result{Number: uint64(len(old))}
}
