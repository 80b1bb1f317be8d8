package raftnet

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	maxBudget   = 10 * time.Minute // longest a call may take
	callTimeout = 30 * time.Second // of a call whose context sets no deadline
	reuseWithin = time.Minute      // a connection unused for longer is dialled again; less than idleTimeout
)

// Client calls other peers, over one connection to each that all calls share. Its methods may be called from
// any goroutine.
type Client struct {
	network Network
	name    string
	mu      sync.Mutex
	remotes map[string]*remote
	conns   *registry
}

// remote is another peer and the connection to it, if there is one.
type remote struct {
	turn chan struct{} // a caller that has put its token in may read the rest, and dial
	link *link
	used time.Time
}

// NewClient returns a client that identifies itself as name: this peer's advertised address, at most 256
// bytes.
func NewClient(network Network, name string) *Client {
	return &Client{
		network: network,
		name:    name[:min(len(name), maxName)],
		remotes: map[string]*remote{},
		conns:   newRegistry(maxCallConns),
	}
}

// Call calls method with body, of at most MaxBody bytes, at the peer at address, and returns its answer. It
// ends with the context, after 30 s if that has no deadline. Each error is one of ErrNotSent,
// ErrOutcomeUnknown and *RemoteError.
func (c *Client) Call(ctx context.Context, address string, method uint8, body []byte) ([]byte, error) {
	if len(body) > MaxBody {
		return nil, notSent(address, fmt.Errorf("a body of %d bytes, more than %d", len(body), MaxBody))
	}
	limit := callTimeout
	if _, ok := ctx.Deadline(); ok {
		limit = maxBudget
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	l, err := c.link(ctx, address)
	if err != nil {
		return nil, notSent(address, err)
	}
	answer, err := l.call(ctx, method, body)
	if err != nil {
		return nil, err
	}
	if answer.code != 0 {
		return nil, &RemoteError{Code: answer.code, Text: string(answer.body)}
	}
	return answer.body, nil
}

// Close ends the calls under way and all connections. Later calls fail with ErrNotSent.
func (c *Client) Close() error {
	c.conns.close()
	c.conns.wait()
	return nil
}

// link returns the connection to an address, and dials if no usable one exists.
func (c *Client) link(ctx context.Context, address string) (*link, error) {
	c.mu.Lock()
	r := c.remotes[address]
	if r == nil {
		r = &remote{turn: make(chan struct{}, 1)}
		c.remotes[address] = r
	}
	c.mu.Unlock()
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := time.Now()
	if r.link != nil && (r.link.dead() || (now.Sub(r.used) > reuseWithin && r.link.retire())) {
		r.link = nil
	}
	r.used = now
	if r.link == nil {
		l, err := c.dial(ctx, address)
		if err != nil {
			return nil, err
		}
		r.link = l
	}
	return r.link, nil
}

func (c *Client) dial(ctx context.Context, address string) (*link, error) {
	timeout := dialTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	if timeout <= 0 {
		return nil, context.DeadlineExceeded
	}
	conn, err := dialKind(c.network, address, kindCall, timeout)
	if err != nil {
		return nil, err
	}
	if err = conn.SetWriteDeadline(time.Now().Add(timeout)); err == nil {
		_, err = conn.Write(hello(c.name))
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	owned := c.conns.wrap(conn)
	l := newLink(owned, address)
	return l, c.conns.start(owned, l.read)
}
