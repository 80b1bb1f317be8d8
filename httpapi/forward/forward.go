// Package forward lets every peer accept every write: one middleware that carries out a request
// locally if this peer leads, and passes it on to the leader otherwise.
//
// A write has one hop: a peer that got it from another peer does not pass it on. While there is no
// leader, or the leader does not answer, the peer that accepted the request keeps it and tries
// again under the same Idempotency-Key, for a few seconds in all; it is woken when the leadership
// changes and so loses no time of a failover. A request that must not be repeated is tried once.
//
// The package uses its peer through [Members] and others through [Send], a call over the peer port, so that it
// runs without sockets, too. [Serve] is the other side: it carries out what other peers pass on.
package forward

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Leader is the leader, as far as this peer knows.
type Leader struct {
	ID      model.PeerID // empty: not known
	Self    bool         // this peer leads
	Address string       // of the leader's peer port; empty: not known
}

// Members is what the middleware needs of the peer that it runs in.
type Members interface {
	// Leader returns the leader; the context ends when that may have changed.
	Leader() (Leader, context.Context)
	// Saw makes later reads of this peer at least as new as the index. It does not wait: a follower
	// learns of a commit with the leader's next message, and a client that has written would wait
	// for that although it may never read.
	Saw(index uint64)
}

// Bounds of a write.
const (
	Patience   = 3 * time.Second       // for all tries together
	bodyLimit  = 10 * time.Second      // for a request's body to arrive
	pauseFirst = 10 * time.Millisecond // between two tries with one leader
	pauseMost  = 200 * time.Millisecond
	maxHeld    = 256 << 20 // bytes of requests that are kept at once
	heldEach   = 4 << 10   // that each counts for, in addition to its body
)

// Config holds the parts of a forwarder.
type Config struct {
	Members Members
	// Send passes requests on to the leader.
	Send Send
	// Sender fills in what this peer knows of the client that has sent a request; nil: the address of the connection.
	Sender func(*http.Request, *Request)
	// Refuse answers with the problem of a code.
	Refuse func(w http.ResponseWriter, r *http.Request, code, detail string)
}

// Rule is how one kind of write is treated.
type Rule struct {
	MaxBody int64 // bytes
	Keyed   bool  // it has an Idempotency-Key, which is added if it is missing
	Once    bool  // it must not be sent twice
}

// Forwarder is the middleware. It may be used for any number of routes.
type Forwarder struct {
	Config

	held room
}

// New returns a forwarder.
func New(c Config) *Forwarder {
	if c.Sender == nil {
		c.Sender = func(r *http.Request, q *Request) { q.Client, _, _ = net.SplitHostPort(r.RemoteAddr) }
	}
	return &Forwarder{Config: c, held: room{most: maxHeld}}
}

// Wrap wraps the handler that carries out a write locally. The handler reports that nothing was
// done, or that the outcome is unknown, by status 503 with wire.HeaderCode no_leader or
// outcome_unknown.
func (f *Forwarder) Wrap(local http.Handler, rule Rule) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, ok := f.admit(w, r, rule.MaxBody)
		if !ok {
			return
		}
		defer f.held.give(size)
		body, ok := f.read(w, r, rule.MaxBody)
		if !ok || !f.name(w, r, rule) {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), Patience)
		defer cancel()
		t := &try{f: f, local: local, w: w, r: r.WithContext(ctx), body: body}
		if PassedOn(r.Context()) != nil {
			t.last()
			return
		}
		if code := t.run(rule.Once); code != "" && r.Context().Err() == nil {
			f.Refuse(w, r, code, problem.Usual(code).Detail)
		}
	})
}

// name adds an Idempotency-Key to a keyed write without one, and puts the key into the answer.
func (f *Forwarder) name(w http.ResponseWriter, r *http.Request, rule Rule) bool {
	if !rule.Keyed {
		return true
	}
	key := r.Header.Get(wire.HeaderRequestID)
	if key == "" {
		id, err := uuid.NewV7()
		if err != nil {
			f.Refuse(w, r, wire.CodeInternal, "no Idempotency-Key can be generated")
			return false
		}
		key = id.String()
		r.Header.Set(wire.HeaderRequestID, key)
	}
	if !model.Text(key, model.MaxRequestID) {
		f.Refuse(w, r, wire.CodeInvalid, "Idempotency-Key: must be at most 128 bytes of text on one line")
		return false
	}
	w.Header().Set(wire.HeaderRequestID, key)
	return true
}
