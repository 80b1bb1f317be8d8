package wire

import (
	"time"
)

// SignIn is the body of POST /session: a token or a code, not both.
type SignIn struct {
	Token string `json:"token,omitempty" doc:"of a user"`
	Code  string `json:"code,omitempty" doc:"from POST /session/codes, which is good once and for a minute"`
}

// SignedIn is the answer to POST /session. The session itself is in the cookie only.
type SignedIn struct {
	Success bool    `json:"success"`
	Name    string  `json:"name" doc:"the user"`
	Session Session `json:"session"`
}

// Code is the answer to POST /session/codes.
type Code struct {
	Success   bool      `json:"success"`
	Code      string    `json:"code" doc:"shown only once; page of a peer: /ui/login#code=CODE"`
	ExpiresAt time.Time `json:"expires_at"`
}
