package auth

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Anonymous is the name of callers without authentication.
const Anonymous = "anonymous"

// Caller is the sender of a request.
type Caller struct {
	Name string // of the user, the service or the node
	Kind Kind
	Role model.Role
	// Credential is the SHA-256 of the token or key; zero: none was needed.
	Credential model.Hash
	// Since is when the user was made, and Founded when the cluster began to require
	// authentication, by the state's clock; both 0 where ownership goes by the name alone, as for
	// services. See [Caller.Owns].
	Since   model.Time
	Founded model.Time
	// Expires is when the caller's token or session expires; 0: never.
	Expires model.Time
	// Parent is, of a caller with a session, the token that the session is of, and ParentExpires when that expires; 0: never.
	Parent        model.Hash
	ParentExpires model.Time
	// Brief is whether the credential has a short life, so that its end is no surprise.
	Brief bool
}

// expiresSoon is how long before its end a token's caller is warned.
const expiresSoon = 7 * 24 * time.Hour

// Warn adds to the headers of an answer the end of the caller's token, if that is soon.
func (c *Caller) Warn(h http.Header, now model.Time) {
	if c.Expires > 0 && !c.Brief && c.Kind != Once && !c.HasSession() && c.Expires < now.Add(expiresSoon) {
		h.Set(wire.HeaderExpires, c.Expires.Time().UTC().Format(time.RFC3339))
	}
}

// HasSession reports whether the caller has shown a session, not a token or a key.
func (c *Caller) HasSession() bool { return !c.Parent.IsZero() }

// Payer returns the key under which the caller's requests are counted: all sessions of a token count as one.
func (c *Caller) Payer() string {
	if c.HasSession() {
		return string(c.Parent[:])
	}
	return string(c.Credential[:])
}

// Agent returns the caller of a request with the certificate of a node.
func Agent(node model.NodeID) *Caller {
	return &Caller{Kind: Node, Name: string(node), Role: model.RoleAgent}
}

// Root returns the caller of a request of root on the machine of a peer.
func Root() *Caller { return &Caller{Kind: Local, Name: "root", Role: model.RoleAdmin} }

// Operates reports whether the caller has the rights of an operator, as every caller has without authentication.
func (c *Caller) Operates() bool { return c.Kind == Open || c.Role.Covers(model.RoleOperator) }

// Owns reports whether an object in a user's name, made at an instant, is the caller's own: it is
// not if it is older than the caller, since then it was made by a former user of the same name,
// which was removed. An object that is older than authentication goes by the name.
func (c *Caller) Owns(user string, made model.Time) bool {
	return user == c.Name && (made >= c.Since || made < c.Founded)
}

// Kind is the kind of a caller.
type Kind uint8

// The kinds.
const (
	Unidentified Kind = iota // not identified: may use open routes only
	Open                     // authentication is off: may do everything, in any user's name
	User
	Service // has a key from the peers' configuration
	Once    // has the first token, which can only make another
	Node    // an agent
	Local   // root, or the account of a peer, on the machine of that peer
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Unidentified, Open:
		return Anonymous
	case User:
		return "user"
	case Service:
		return "service"
	case Once:
		return "first"
	case Node:
		return "agent"
	case Local:
		return "local"
	}
	return "unknown"
}

// Actor returns the caller's name in timelines and request ids.
func (c *Caller) Actor() string {
	switch c.Kind {
	case Service:
		return "service:" + c.Name
	case Once:
		return "token:first"
	case Node:
		return "node:" + c.Name
	case Local:
		return "local:" + c.Name
	case Unidentified, Open, User:
	}
	if c.Name == "" {
		return "user:" + Anonymous
	}
	return "user:" + c.Name
}

type callerKey struct{}

// With returns the context of a request that comes from the caller.
func With(ctx context.Context, c *Caller) context.Context {
	current := &atomic.Pointer[Caller]{}
	current.Store(c)
	return context.WithValue(ctx, callerKey{}, current)
}

// From returns the caller of the request with the context, as last identified; without one a caller
// without any rights. A long request must call it again after each wait: the caller's role may have
// changed meanwhile.
func From(ctx context.Context) *Caller {
	if current, is := ctx.Value(callerKey{}).(*atomic.Pointer[Caller]); is {
		return current.Load()
	}
	return &Caller{}
}

// Renew replaces the caller of a request by the same one with its present rights.
func Renew(ctx context.Context, c *Caller) {
	if current, is := ctx.Value(callerKey{}).(*atomic.Pointer[Caller]); is {
		current.Store(c)
	}
}
