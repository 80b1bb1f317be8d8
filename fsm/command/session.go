package command

import (
	"github.com/berth-gpu/berth/fsm/model"
)

// MakeSession makes a session of a token, or a one-time code for one. A code makes a session and is spent.
type MakeSession struct {
	Hash model.Hash `cbor:"1,keyasint,omitempty"` // of the session or the code
	From model.Hash `cbor:"2,keyasint,omitempty"` // of a session: a token or a code; of a code: a token or a session
	Code bool       `cbor:"3,keyasint,omitempty"` // make a code
}

// Kind returns KindMakeSession.
func (*MakeSession) Kind() Kind { return KindMakeSession }

// Validate requires both.
func (b *MakeSession) Validate() error {
	if b.Hash.IsZero() || b.From.IsZero() {
		return invalid("session", "256 random bits, made from a token, a session or a code")
	}
	return nil
}

// Target returns what the session or code is made from, by its id in lists.
func (b *MakeSession) Target() string { return "token " + targetToken(b.From) }

// RenewSession extends a session that is in use.
type RenewSession struct {
	Hash model.Hash `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindRenewSession.
func (*RenewSession) Kind() Kind { return KindRenewSession }

// Validate requires a session.
func (b *RenewSession) Validate() error {
	if b.Hash.IsZero() {
		return invalid("session", "a session")
	}
	return nil
}

// Target returns the session, by its id in lists.
func (b *RenewSession) Target() string { return "session " + targetToken(b.Hash) }
