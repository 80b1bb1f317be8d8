// Package session has the sessions of browsers, and the one-time codes with which sessions begin, as rows of the state.
//
//berth:pure
package session

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Lifetimes of sessions and codes.
const (
	Idle  = 12 * time.Hour     // of a session, from its last use
	Life  = 7 * 24 * time.Hour // of a session, from the sign-in
	Step  = time.Hour          // a session is renewed once it gains so much: uses do not fill the log
	Brief = time.Minute        // of a code
)

// Bounds of sessions and codes. One more of a user ends the user's oldest.
const (
	MaxOf      = 50     // sessions of one user
	MaxCodesOf = 10     // codes of one user
	Max        = 10_000 // sessions and codes of all users
)

// Row is a session: a child of a token, with which a browser signs in. Or it is a code, which is good for making one session, once. The
// secrets themselves are 256 random bits each and are stored nowhere.
//
//berth:row
type Row struct {
	Hash    model.Hash `cbor:"1,keyasint,omitempty"` // SHA-256 of the secret
	Parent  model.Hash `cbor:"2,keyasint,omitempty"` // the token, without which there is no session
	User    string     `cbor:"3,keyasint,omitempty"` // of the token
	First   model.Hash `cbor:"4,keyasint,omitempty"` // the session from which this one was handed over, the first of them; zero: none
	Made    model.Time `cbor:"5,keyasint,omitempty"`
	Began   model.Time `cbor:"6,keyasint,omitempty"` // the sign-in; of a code: that of the session that made it, 0 if a token did
	Expires model.Time `cbor:"7,keyasint,omitempty"` // not good from then on
	Code    bool       `cbor:"8,keyasint,omitempty"`
}

// Good reports whether the session or code has not expired.
func (r *Row) Good(now model.Time) bool { return now < r.Expires }

// SignIn returns the first session of the sign-in that a session belongs to. Those that were handed over from it end with it.
func (r *Row) SignIn() model.Hash {
	if r.First.IsZero() {
		return r.Hash
	}
	return r.First
}

// End returns when a session expires that is used now: 12 hours later, 7 days after the sign-in, or with its token, whichever comes first.
func End(began, now model.Time, parent *model.Token) model.Time {
	end := min(now.Add(Idle), began.Add(Life))
	if parent.Expires > 0 {
		end = min(end, parent.Expires)
	}
	return end
}

// Renewal returns when a session expires that is used now, and whether that is late enough to be worth a command: of a session
// with an hour or more to gain.
func (r *Row) Renewal(now model.Time, parent *model.Token) (end model.Time, due bool) {
	end = End(r.Began, now, parent)
	return end, !r.Code && r.Good(now) && end >= r.Expires.Add(Step)
}
