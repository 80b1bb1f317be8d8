package wire

import "time"

// Whoami is the answer to GET /whoami: who the caller is, and what they may.
type Whoami struct {
	Authentication bool     `json:"authentication" doc:"callers are asked who they are"`
	Name           string   `json:"name,omitempty"`
	Kind           string   `json:"kind" doc:"anonymous, user, service, agent, or first (the first token)"`
	Role           string   `json:"role" doc:"viewer, user, operator, admin or agent"`
	Actor          string   `json:"actor" doc:"as timelines name the caller"`
	Projects       []string `json:"projects" nullable:"false" doc:"that the caller may submit jobs in; an operator may in any"`
}

// MakeToken is the body of POST /tokens.
type MakeToken struct {
	User      string    `json:"user,omitempty" doc:"whose it is; one who is not known yet becomes so, with the token's role"`
	Node      string    `json:"node,omitempty" doc:"of an agent's token: the only node that it speaks for; any by default"`
	Role      string    `json:"role,omitempty" doc:"at most: viewer, user, operator or admin (as its user by default), or agent"`
	Name      string    `json:"name,omitempty" doc:"for people"`
	ExpiresIn *Duration `json:"expires_in,omitempty" doc:"how long it is good; for ever by default"`
}

// MadeToken is the answer to POST /tokens.
type MadeToken struct {
	Success bool   `json:"success"`
	Secret  string `json:"token" doc:"the token itself, which is told now and never again"`
	Token
}

// Tokens is the answer to GET /tokens.
type Tokens struct {
	Tokens []Token `json:"tokens" nullable:"false" doc:"by user, then age"`
}

// Token is a token without what it is: that is nowhere kept.
type Token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitempty"`
	User      string    `json:"user,omitempty"`
	Node      string    `json:"node,omitempty"`
	Role      string    `json:"role" doc:"what it allows now"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Expired   bool      `json:"expired"`
}

// SetUser is the body of PUT /users/{user}: what is left out stays as it is.
type SetUser struct {
	Role  string   `json:"role,omitempty" doc:"viewer, user, operator or admin; must be given for somebody who is not known yet"`
	Join  []string `json:"join,omitempty" nullable:"false" doc:"projects"`
	Leave []string `json:"leave,omitempty" nullable:"false" doc:"projects"`
}

// Users is the answer to GET /users.
type Users struct {
	Users []User `json:"users" nullable:"false" doc:"by name"`
}

// User is somebody whom the cluster knows.
type User struct {
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	Projects  []string  `json:"projects" nullable:"false"`
	Tokens    int64     `json:"tokens" doc:"that have not been revoked"`
	CreatedAt time.Time `json:"created_at"`
}

// Gone is the answer where something was removed.
type Gone struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}
