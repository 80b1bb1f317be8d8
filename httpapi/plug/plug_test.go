package plug

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// An error that means that nothing was proposed may be tried again at once; of every
// other one the outcome counts as unknown.
func TestErrorsOfThePeer(t *testing.T) {
	for _, c := range []struct {
		err  error
		code string
	}{
		{&peer.NotLeaderError{Leader: "p2"}, wire.CodeNoLeader},
		{peer.ErrNoLeader, wire.CodeNoLeader},
		{peer.ErrClosed, wire.CodeNoLeader},
		{peer.ErrOutcomeUnknown, wire.CodeOutcomeUnknown},
		{errors.Join(peer.ErrOutcomeUnknown, peer.ErrClosed), wire.CodeOutcomeUnknown},
		{peer.ErrOverloaded, wire.CodeOverloaded},
		{peer.ErrNoSpace, wire.CodeNoSpace},
		{peer.ErrDiverged, wire.CodeDiverged},
		{peer.ErrBehind, wire.CodeBehind},
		{context.DeadlineExceeded, wire.CodeOutcomeUnknown},
		{errors.New("something else"), wire.CodeOutcomeUnknown},
	} {
		fault, is := errors.AsType[*problem.Fault](faultOf(fmt.Errorf("proposing: %w", c.err)))
		if !is || fault.Code != c.code {
			t.Errorf("%v became %+v, want code %s", c.err, fault, c.code)
		}
	}
	if err := faultOf(command.ErrTooLarge); !errors.Is(err, command.ErrTooLarge) {
		t.Errorf("a command that is too large became %v", err)
	}
	if err := faultOf(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
