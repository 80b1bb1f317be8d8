package core

import (
	"fmt"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Bounds of requests that are open at once: long polls, streams and followed logs stay open for as
// long as they last. Each holds one connection.
const (
	maxOpenOf      = 512                    // of a user or a service
	maxOpenOfAgent = 64                     // of a node's agent
	maxOpenFrom    = maxConnsOfEach * 3 / 4 // of all users and services at one address
	maxOpen        = maxConns * 3 / 4       // of all users and services; the rest is for operators and agents
)

// openRequests counts the open requests of known callers.
type openRequests struct {
	Each, agent, from, all int

	mu     sync.Mutex
	ofEach map[string]int // by actor
	ofFrom map[string]int // of users and services, by address
	users  int            // of users and services
}

func newOpenRequests() *openRequests {
	return &openRequests{
		Each: maxOpenOf, agent: maxOpenOfAgent, from: maxOpenFrom, all: maxOpen, ofEach: map[string]int{}, ofFrom: map[string]int{},
	}
}

// begin counts a request from an address, and returns a function that must be called when it has
// been answered; or why it must wait until others have been. There is no bound without
// authentication and for other peers.
func (o *openRequests) begin(c *auth.Caller, address string) (done func(), f *problem.Failure) {
	if c.Kind != auth.User && c.Kind != auth.Service && c.Kind != auth.Node {
		return func() {}, nil
	}
	actor, shares := c.Actor(), c.Kind != auth.Node && !c.Role.Covers(model.RoleOperator)
	o.mu.Lock()
	defer o.mu.Unlock()
	most := o.Each
	if c.Kind == auth.Node {
		most = o.agent
	}
	switch {
	case o.ofEach[actor] >= most:
		return nil, tooMany(fmt.Sprintf("%d requests of %s are open, the limit is %d: end some, or use one stream for several things",
			o.ofEach[actor], actor, most))
	case shares && o.ofFrom[address] >= o.from:
		return nil, tooMany(fmt.Sprintf("%d requests from this address are open, the limit is %d: end some", o.ofFrom[address], o.from))
	case shares && o.users >= o.all:
		return nil, tooMany(fmt.Sprintf("%d requests of users are open at this peer, the limit is %d: try again later, or another peer", o.users, o.all))
	}
	o.count(actor, address, shares, 1)
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.count(actor, address, shares, -1)
	}, nil
}

func (o *openRequests) count(actor, address string, shares bool, by int) {
	tally(o.ofEach, actor, by)
	if shares {
		tally(o.ofFrom, address, by)
		o.users += by
	}
}

func tally(to map[string]int, name string, by int) {
	if to[name] += by; to[name] == 0 {
		delete(to, name)
	}
}

// tooMany returns the problem of a request beyond a share.
func tooMany(detail string) *problem.Failure {
	f := problem.Refuse(wire.CodeOverloaded, detail)
	f.RetryIn(5 * time.Second)
	return f
}
