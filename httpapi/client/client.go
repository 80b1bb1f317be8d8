// Package client is a client of the API, for the command line, for agents and for other Go
// programs.
//
// Any peer accepts any request, so a client has the addresses of several and stays with the one
// that answered last. A refusal by a peer is a *[wire.Problem], whose Code is stable; if no peer
// can be reached the error is [ErrUnreachable].
package client

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/google/uuid"
)

// ErrUnreachable is the error if no peer could be asked.
var ErrUnreachable = errors.New("no peer can be reached")

// Options are the peers that a client asks, and how.
type Options struct {
	// Addresses are the peers' API addresses, host:port.
	Addresses []string
	// Dial opens connections; nil dials TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Token is the caller's token; empty: none.
	Token string
	// UserAgent names the program in requests; empty: "berth".
	UserAgent string
	// Version is that of the program. What a peer of another version does not know is said to be missing there; empty: nothing is said.
	Version string
	// Patience is how long a change is retried while peers answer that they are temporarily unable;
	// 0: 10 s.
	Patience time.Duration
	// Expiring is called once, with the first answer which says that the token expires within a
	// week; nil: no call is made. It may be called from any goroutine.
	Expiring func(at time.Time)
	// Led is called with each registration and renewal of an agent that the cluster has accepted; nil: no call is made.
	Led func()
}

// Client calls a cluster for a user. Its methods may be called from any goroutine.
type Client struct{ calls *caller }

// New returns a client. It connects at the first call; its only error is an address that is not
// host:port.
func New(o Options) (*Client, error) {
	calls, err := newCaller(o)
	if err != nil {
		return nil, err
	}
	return &Client{calls}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.calls.http.CloseIdleConnections() }

// NewKey returns a new Idempotency-Key: a UUIDv7. A change that is sent again under its key is
// carried out once.
func NewKey() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	return id.String(), nil
}
