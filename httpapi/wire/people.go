package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Whoami is the answer to GET /whoami: the caller and its rights.
type Whoami struct {
	Authentication bool   `json:"authentication" doc:"callers must authenticate"`
	Name           string `json:"name,omitempty"`
	Kind           string `json:"kind" doc:"anonymous, user, service, agent, or first (the first token)"`
	Role           string `json:"role" doc:"viewer, user, operator, admin or agent"`
	Actor          string `json:"actor" doc:"the caller in timelines"`
	// ExpiresAt is of the token; a key of the configuration has no end.
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"when the caller's token expires; absent: never"`
	Projects  []string  `json:"projects" nullable:"false" doc:"that the caller may submit jobs in; an operator may in any"`
	// Since is of a user: jobs of the name from before belong to a former user.
	Since time.Time `json:"since,omitzero" doc:"when the user was created"`
	// Session is of a caller that has signed in.
	Session *Session `json:"session,omitempty" doc:"the session that the request was sent with; absent: it was sent with a token, a key or none"`
}

// Session is a session of a browser, without its secret.
type Session struct {
	ID        string    `json:"id"`
	Parent    string    `json:"parent" doc:"id of the token that it is of"`
	ExpiresAt time.Time `json:"expires_at" doc:"if it is not used until then; each use moves this on, in steps of an hour"`
}

// MakeToken is the body of POST /tokens.
type MakeToken struct {
	User      string    `json:"user,omitempty" doc:"the token's user; a name that is not known becomes a user with the token's role. For a machine: the name under which it joins; left out: any that is not in use"`
	Role      string    `json:"role,omitempty" doc:"highest role: viewer, user, operator or admin (by default the user's); or agent or peer, for a token that lets one machine join as a node or a peer"`
	Name      string    `json:"name,omitempty" doc:"description for users"`
	ExpiresIn *Lifetime `json:"expires_in,omitempty" doc:"lifetime, or never for no end; by default 90d, and for a machine 1h"`
	Network   string    `json:"network,omitempty" doc:"network that a machine must join from, such as 10.1.2.0/24; left out: any"`
	Hosts     []string  `json:"hosts,omitempty" nullable:"false" doc:"host names and addresses by which browsers and other programs reach the peer, for its certificate; that under which it joins is in the certificate anyway"`
}

// Never is the [Lifetime] of a token that does not expire.
const Never = "never"

// Lifetime is how long a token is valid: a [Duration], or the text never, which is 0.
type Lifetime Duration

// UnmarshalJSON parses either; the error describes what is expected.
func (l *Lifetime) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte(strconv.Quote(Never))) {
		*l = 0
		return nil
	}
	var d Duration
	if err := json.Unmarshal(data, &d); err != nil {
		return fmt.Errorf("%w, or never", err)
	}
	if d <= 0 {
		return errors.New("must be more than 0, or never")
	}
	*l = Lifetime(d)
	return nil
}

// MarshalJSON writes the duration, or never.
func (l Lifetime) MarshalJSON() ([]byte, error) {
	if l == 0 {
		return json.Marshal(Never)
	}
	return json.Marshal(Duration(l))
}

// MadeToken is the answer to POST /tokens.
type MadeToken struct {
	Success bool   `json:"success"`
	Secret  string `json:"token" doc:"the token itself, which is shown only once"`
	Token
}

// Tokens is the answer to GET /tokens.
type Tokens struct {
	Tokens []Token `json:"tokens" nullable:"false" doc:"by user, then age"`
}

// Token is a token without its secret, which is not kept.
type Token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitempty"`
	User      string    `json:"user,omitempty"`
	Node      string    `json:"node,omitempty"`
	Role      string    `json:"role" doc:"what it allows now; agent and peer: one machine may join as a node or a peer"`
	Network   string    `json:"network,omitempty" doc:"that the machine must join from"`
	Hosts     []string  `json:"hosts,omitempty" nullable:"false" doc:"host names and addresses that the peer's certificate gets"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Expired   bool      `json:"expired"`
	Current   bool      `json:"current,omitempty" doc:"the request was sent with it"`
	Session   bool      `json:"session,omitempty" doc:"it is a session of a browser, which is revoked as a token is"`
	Parent    string    `json:"parent,omitempty" doc:"of a session: id of the token that it is of, with which it ends"`
}

// SetUser is the body of PUT /users/{user}: what is left out stays as it is.
type SetUser struct {
	Role  string   `json:"role,omitempty" doc:"viewer, user, operator or admin; must be given for a new user"`
	Join  []string `json:"join,omitempty" nullable:"false" doc:"projects"`
	Leave []string `json:"leave,omitempty" nullable:"false" doc:"projects"`
	// Provider has the next sign-in with the identity provider under the name take the user.
	Provider bool `json:"provider,omitempty" doc:"the account that signs in next at the identity provider under this name becomes that of the user; a former account of the user cannot sign in any more"`
}

// Users is the answer to GET /users.
type Users struct {
	Users []User `json:"users" nullable:"false" doc:"by name"`
}

// User is a user of the cluster.
type User struct {
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	Projects  []string  `json:"projects" nullable:"false"`
	Tokens    int64     `json:"tokens" doc:"that have not been revoked"`
	CreatedAt time.Time `json:"created_at"`
	Account   string    `json:"account,omitempty" doc:"hash of the account at the identity provider with which the user signs in; next: that which signs in next under the name; absent: none"`
}

// Gone is the answer when something was removed.
type Gone struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}
