package raftnet

import (
	"errors"
	"fmt"
)

// What a failed call means for the caller. Exactly one of ErrNotSent, ErrOutcomeUnknown and a RemoteError is
// found in each error of Client.Call.
var (
	// ErrNotSent: the other peer has not got the call and will not act on it; it is safe to try elsewhere.
	ErrNotSent = errors.New("call not sent")
	// ErrOutcomeUnknown: the other peer may have acted, may be acting, or may never have got the call.
	ErrOutcomeUnknown = errors.New("outcome of call unknown")
	// ErrUnknownMethod is found in a RemoteError of CodeUnknownMethod: the other peer did nothing.
	ErrUnknownMethod = errors.New("unknown method")
	// ErrBusy is found in a RemoteError of CodeBusy: the other peer did nothing, having too much to do.
	ErrBusy = errors.New("too many calls under way")
)

// Code classifies remote errors. Codes from FirstOwnCode on are the handlers' own. A number never changes its
// meaning.
type Code uint16

// The codes of the call server itself.
const (
	CodeFailed        Code = 1 // the handler returned an error without a code
	CodeUnknownMethod Code = 2
	CodeBusy          Code = 3
	CodeTooLarge      Code = 4 // the handler's answer exceeds MaxBody
	FirstOwnCode      Code = 100
)

// RemoteError is another peer's answer that a call failed there. A handler that returns one sets code and
// text itself.
type RemoteError struct {
	Code Code
	Text string
}

// Error returns the other peer's text with the code.
func (e *RemoteError) Error() string {
	return fmt.Sprintf("other peer: %s (code %d)", e.Text, e.Code)
}

// Is matches ErrUnknownMethod and ErrBusy.
func (e *RemoteError) Is(target error) bool {
	return (e.Code == CodeUnknownMethod && target == ErrUnknownMethod) ||
		(e.Code == CodeBusy && target == ErrBusy)
}

// notSent and unknown add where a call failed, and keep the cause.
func notSent(address string, cause error) error {
	return fmt.Errorf("%w to %s: %w", ErrNotSent, address, cause)
}

func unknown(address string, cause error) error {
	return fmt.Errorf("%w, sent to %s: %w", ErrOutcomeUnknown, address, cause)
}
