package raftnet

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
)

var errTooMany = errors.New("too many connections")

// registry tracks one owner's open connections, to bound their number and to close them all at its end.
type registry struct {
	limit   int
	serving sync.WaitGroup
	mu      sync.Mutex
	open    map[*owned]struct{}
	closed  bool
}

// owned is a connection that leaves its registry when it is closed.
type owned struct {
	net.Conn
	in *registry
}

func newRegistry(limit int) *registry {
	return &registry{limit: limit, open: map[*owned]struct{}{}}
}

// adopt adds a connection, or closes it and returns why it may not stay.
func (r *registry) adopt(conn net.Conn) (*owned, error) {
	c := r.wrap(conn)
	return c, r.start(c, nil)
}

// wrap makes a connection ready for start.
func (r *registry) wrap(conn net.Conn) *owned { return &owned{Conn: conn, in: r} }

// start adds a connection and runs serve for it, if that is not nil, in a goroutine that wait waits for. A
// connection that may not stay is closed.
func (r *registry) start(c *owned, serve func()) error {
	err := r.enter(c, serve)
	if err != nil {
		_ = c.Conn.Close()
	}
	return err
}

func (r *registry) enter(c *owned, serve func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return net.ErrClosed
	case len(r.open) >= r.limit:
		return errTooMany
	}
	r.open[c] = struct{}{}
	if serve != nil {
		r.serving.Go(serve)
	}
	return nil
}

// wait returns, after close, when all serving goroutines have ended.
func (r *registry) wait() { r.serving.Wait() }

// release removes a connection without closing it.
func (r *registry) release(c *owned) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, c)
	return c.Conn
}

// close closes every connection and refuses those that still come.
func (r *registry) close() {
	r.mu.Lock()
	r.closed = true
	all := slices.Collect(maps.Keys(r.open))
	r.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}

// Close closes the connection and removes it.
func (c *owned) Close() error { return c.in.release(c).Close() }
