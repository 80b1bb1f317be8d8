// Package client is the API's other end: HTTP out, for the command line, for
// agents and for other Go programs.
//
//	client.go  a Client: what all of its calls share
//	caller.go  which peer is asked, and what is tried again
//	jobs.go    jobs and the queue
//	quota.go   limits, shares and pools
//	events.go  what happens; webhooks.go: who is told of it
//	fleet.go   GPUs, nodes, peers and the orchestrator
//	people.go  who the caller is, users and tokens
//	agent.go   what agents say to peers
//
// Any peer takes any request, so a client is given the addresses of several and
// stays with the one that answered last. What a peer refuses comes back as a
// *[wire.Problem], whose Code is stable; nobody reachable is [ErrUnreachable].
package client

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/google/uuid"
)

// ErrUnreachable says that no peer could be asked.
var ErrUnreachable = errors.New("no peer can be reached")

// Options say whom a client asks and how.
type Options struct {
	// Addresses are the peers' API addresses, host:port.
	Addresses []string
	// Dial opens connections; nil dials TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Token is what the caller shows; empty: nothing.
	Token string
	// UserAgent names the program to the peers; empty: "berth".
	UserAgent string
	// Patience is how long a change is tried for when peers answer that they
	// cannot carry it out just now; 0: 10 s.
	Patience time.Duration
	// Expiring is called once, with the first answer that says that the token expires within
	// a week; nil: nothing is. It may be called from any goroutine.
	Expiring func(at time.Time)
}

// Client talks to a cluster as a user does. Its methods may be called from any
// goroutine.
type Client struct{ calls *caller }

// New makes a client. It connects when it is first used; its only error is an
// address that is not host:port.
func New(o Options) (*Client, error) {
	calls, err := newCaller(o)
	if err != nil {
		return nil, err
	}
	return &Client{calls}, nil
}

// Close gives idle connections back.
func (c *Client) Close() { c.calls.http.CloseIdleConnections() }

// NewKey draws an Idempotency-Key: a UUIDv7. A change that is sent again under
// its key is carried out once.
func NewKey() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	return id.String(), nil
}
