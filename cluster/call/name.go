package call

import (
	"context"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// Name names a call, with its lane and the types of its question Q and answer A, which are encoded in CBOR.
// Both sides use the same value, so that they agree on the types.
type Name[Q, A any] struct {
	lane Lane
	text string // 1 to maxCallName bytes
}

// Define returns the name of a call. The text is part of the protocol.
func Define[Q, A any](lane Lane, text string) Name[Q, A] { return Name[Q, A]{lane, text} }

// String returns the text.
func (n Name[Q, A]) String() string { return n.text }

// Handle sets what answers a call, in place of what did before. Until then the call is refused with
// KindUnknown, and the caller learns that nothing was done. The context of do ends with the caller's time or
// with the server. An error that is a *RemoteError reaches the caller as it is, any other with KindFailed.
func Handle[Q, A any](s *Server, n Name[Q, A], do func(ctx context.Context, from model.PeerID, q *Q) (*A, error)) {
	s.handle(n.lane, n.text, func(ctx context.Context, from model.PeerID, body []byte) ([]byte, error) {
		q := new(Q)
		if err := cbor.Unmarshal(body, q); err != nil {
			return nil, &RemoteError{KindMalformed, fmt.Sprintf("the question of %s cannot be decoded: %v", n.text, err)}
		}
		a, err := do(ctx, from, q)
		if err != nil {
			return nil, err
		}
		return cbor.Marshal(a)
	})
}

// Do makes a call at another peer and returns its answer. It ends with the context, and by the bounds of the
// call's lane at the latest. Each error is one of ErrNotSent, ErrOutcomeUnknown and *RemoteError.
func Do[Q, A any](ctx context.Context, c *Client, to peer.Server, n Name[Q, A], q *Q) (*A, error) {
	body, err := cbor.Marshal(q)
	if err != nil {
		return nil, notSent(to, err)
	}
	reply, err := c.do(ctx, to, n.lane, n.text, body)
	if err != nil {
		return nil, err
	}
	a := new(A)
	if err := cbor.Unmarshal(reply, a); err != nil {
		return nil, unknown(to, fmt.Errorf("the answer to %s cannot be decoded: %w", n.text, err))
	}
	return a, nil
}
