package call

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-gpu/berth/cluster/peer"
)

// What a failed call means for the caller. Exactly one of ErrNotSent, ErrOutcomeUnknown and a RemoteError is
// found in each error of Do.
var (
	// ErrNotSent means that the other peer has not got the call and will not act on it; it is safe to try
	// elsewhere.
	ErrNotSent = errors.New("call not sent")
	// ErrOutcomeUnknown means that the other peer may have acted, may be acting, or may never have got the call.
	ErrOutcomeUnknown = errors.New("outcome of call unknown")
)

// Kind classifies remote errors, across the wire. A kind never changes its meaning; handlers have more
// kinds of their own.
type Kind string

// The kinds of the server itself. With all but KindFailed and KindTooLarge the other peer did nothing.
const (
	KindFailed    Kind = "failed"    // the handler returned an error without a kind, or panicked
	KindUnknown   Kind = "unknown"   // the other peer does not answer this call, or not yet
	KindBusy      Kind = "busy"      // the other peer works on too many calls of this peer
	KindMalformed Kind = "malformed" // the question cannot be decoded
	KindStranger  Kind = "stranger"  // the caller is no member of the cluster
	KindTooLarge  Kind = "too_large" // the answer exceeds the bounds of the lane
)

// RemoteError is another peer's answer that a call failed there. A handler that returns one sets kind and text
// itself.
type RemoteError struct {
	Kind Kind
	Text string
}

// Error returns the other peer's text with the kind.
func (e *RemoteError) Error() string {
	return fmt.Sprintf("other peer: %s (%s)", e.Text, e.Kind)
}

// KindOf returns the kind of the remote error in an error; empty if there is none.
func KindOf(err error) Kind {
	if remote, is := errors.AsType[*RemoteError](err); is {
		return remote.Kind
	}
	return ""
}

// Undone reports whether an error of Do means that the other peer did nothing, whatever was asked.
func Undone(err error) bool {
	undone := []Kind{KindUnknown, KindBusy, KindMalformed, KindStranger}
	return slices.Contains(undone, KindOf(err)) || errors.Is(err, ErrNotSent)
}

// notSent and unknown add where a call failed, and keep the cause.
func notSent(to peer.Server, cause error) error {
	return fmt.Errorf("%w to %s: %w", ErrNotSent, to.Address, cause)
}

func unknown(to peer.Server, cause error) error {
	return fmt.Errorf("%w, sent to %s: %w", ErrOutcomeUnknown, to.Address, cause)
}
