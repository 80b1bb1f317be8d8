package call

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/conns"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

const (
	dialTimeout = 2 * time.Second
	reuseWithin = time.Minute // a connection unused for longer is dialled again; less than idleTimeout
)

// Dialer opens a connection for calls to another peer's port, within a time. If the id of the peer is given, the
// other side must prove that id, where the network can.
type Dialer func(to peer.Server, timeout time.Duration) (net.Conn, error)

// Client calls other peers, over one connection for each peer and lane that all calls share. Its methods may
// be called from any goroutine.
type Client struct {
	self  model.PeerID
	open  Dialer
	mu    sync.Mutex
	ends  map[end]*remote
	done  bool
	conns *conns.Set
	dials sync.WaitGroup
}

// end is another peer's end of a lane.
type end struct {
	lane Lane
	to   peer.Server
}

// remote is the connection to an end, if there is one.
type remote struct {
	turn chan struct{} // a caller that has put its token in may read the rest, and dial
	link *link
	used time.Time
}

// NewClient returns a client that identifies itself as a peer.
func NewClient(self model.PeerID, open Dialer) *Client {
	return &Client{self: self, open: open, ends: map[end]*remote{}, conns: conns.New(maxConns)}
}

// do makes a call and returns the answer's body.
func (c *Client) do(ctx context.Context, to peer.Server, lane Lane, name string, body []byte) ([]byte, error) {
	limits, known := lane.bounds()
	q := request{name: name, body: body}
	switch {
	case !known || name == "" || len(name) > maxCallName:
		return nil, notSent(to, fmt.Errorf("no call can have the name %q", name))
	case q.size() > limits.frame:
		return nil, notSent(to, fmt.Errorf("a question of %d bytes, more than %d", len(body), limits.frame-q.size()+len(body)))
	}
	limit := limits.usual
	if _, ok := ctx.Deadline(); ok {
		limit = limits.longest
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	l, err := c.link(ctx, end{lane, to})
	if err != nil {
		return nil, notSent(to, err)
	}
	a, err := l.call(ctx, to, q)
	if err != nil {
		return nil, err
	}
	if a.kind != "" {
		return nil, &RemoteError{Kind: a.kind, Text: string(a.body)}
	}
	return a.body, nil
}

// Close ends the calls under way and all connections. Later calls fail with ErrNotSent.
func (c *Client) Close() error {
	c.mu.Lock()
	c.done = true
	c.mu.Unlock()
	c.conns.Close()
	c.dials.Wait()
	c.conns.Wait()
	return nil
}

// remote returns what is known of an end.
func (c *Client) remote(at end) *remote {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.ends[at]
	if r == nil {
		r = &remote{turn: make(chan struct{}, 1)}
		c.ends[at] = r
	}
	return r
}

// link returns the connection to an end, and dials if no usable one exists.
func (c *Client) link(ctx context.Context, at end) (*link, error) {
	r := c.remote(at)
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := time.Now()
	if r.link != nil && (r.link.dead() || (now.Sub(r.used) > reuseWithin && r.link.retire())) {
		r.link = nil
	}
	r.used = now
	if l := r.link; l != nil {
		<-r.turn
		return l, nil
	}
	return c.redial(ctx, at, r)
}

var errClosed = errors.New("the client is closed")

// redial dials for a caller that has the turn. The turn is given back when the dial is over, which may be after
// the caller has left: the next caller uses the connection.
func (c *Client) redial(ctx context.Context, at end, r *remote) (*link, error) {
	type dialled struct {
		link *link
		err  error
	}
	out := make(chan dialled, 1)
	dial := func() {
		l, err := c.dial(ctx, at)
		r.link = l
		<-r.turn
		out <- dialled{l, err}
	}
	c.mu.Lock()
	if c.done {
		c.mu.Unlock()
		<-r.turn
		return nil, errClosed
	}
	c.dials.Go(dial)
	c.mu.Unlock()
	select {
	case d := <-out:
		return d.link, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) dial(ctx context.Context, at end) (*link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	timeout := dialTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	if timeout <= 0 {
		return nil, context.DeadlineExceeded
	}
	conn, err := c.open(at.to, timeout)
	if err != nil {
		return nil, err
	}
	if err = conn.SetWriteDeadline(time.Now().Add(timeout)); err == nil {
		_, err = conn.Write(hello(at.lane, string(c.self)))
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	limits, _ := at.lane.bounds()
	owned := c.conns.Wrap(conn)
	l := newLink(owned, limits)
	if err := c.conns.Start(owned, l.read); err != nil {
		return nil, err
	}
	return l, nil
}
