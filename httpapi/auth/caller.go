package auth

import (
	"context"
	"sync/atomic"

	"github.com/berth-gpu/berth/fsm/model"
)

// Anonymous is who somebody is while nobody is asked who they are.
const Anonymous = "anonymous"

// Caller is who a request comes from.
type Caller struct {
	Name string // of the user, the service or the node
	Kind Kind
	Role model.Role
	// Credential is the SHA-256 of what they have shown; zero: nothing was asked for.
	Credential model.Hash
	// Since is when the user was made, and Founded when the cluster began to require
	// authentication, by the state's clock; both 0 where a name alone says whose something
	// is, as for services. See [Caller.Owns].
	Since   model.Time
	Founded model.Time
	// Expires is when what the caller has shown expires; 0: never.
	Expires model.Time
}

// Owns reports whether something in a user's name, made at an instant, is the caller's own:
// it is not where it is older than the caller, since then it was made by a former user of
// the same name, who was removed. What is older than authentication goes by the name.
func (c *Caller) Owns(user string, made model.Time) bool {
	return user == c.Name && (made >= c.Since || made < c.Founded)
}

// Kind says what a caller is.
type Kind uint8

// The kinds.
const (
	Nobody Kind = iota // not known: may do nothing that is not open to all
	Open               // authentication is off: may do all, in anybody's name
	User
	Service // has a key from the peers' configuration
	Once    // has the first token, which is good for making another
	Node    // an agent
	Peer    // another peer, about nobody's request
)

// String is the kind's name.
func (k Kind) String() string {
	switch k {
	case Nobody, Open:
		return Anonymous
	case User:
		return "user"
	case Service:
		return "service"
	case Once:
		return "first"
	case Node:
		return "agent"
	case Peer:
		return "peer"
	}
	return "unknown"
}

// Actor is who the caller is in timelines and to request ids.
func (c *Caller) Actor() string {
	switch c.Kind {
	case Service:
		return "service:" + c.Name
	case Once:
		return "token:first"
	case Node:
		return "node:" + c.Name
	case Peer:
		return "peer:" + c.Name
	case Nobody, Open, User:
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

// From returns the caller of the request with the context, as last identified; without
// one a caller that may do nothing. What takes long asks again after each wait: the
// caller's role may have changed meanwhile.
func From(ctx context.Context) *Caller {
	if current, is := ctx.Value(callerKey{}).(*atomic.Pointer[Caller]); is {
		return current.Load()
	}
	return &Caller{}
}

// Renew replaces the caller of a request by the same one as identified now.
func Renew(ctx context.Context, c *Caller) {
	if current, is := ctx.Value(callerKey{}).(*atomic.Pointer[Caller]); is {
		current.Store(c)
	}
}
