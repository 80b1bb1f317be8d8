package raftnet

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
)

var errTooMany = errors.New("too many connections")

// registry knows one owner's open connections, to bound their number and to close them all at its end.
type registry struct {
	limit  int
	mu     sync.Mutex
	open   map[*owned]struct{}
	closed bool
}

// owned is a connection that leaves its registry when it is closed.
type owned struct {
	net.Conn
	in *registry
}

func newRegistry(limit int) *registry {
	return &registry{limit: limit, open: map[*owned]struct{}{}}
}

// adopt takes a connection in, or closes it and says why it may not stay.
func (r *registry) adopt(conn net.Conn) (*owned, error) {
	c := &owned{Conn: conn, in: r}
	if err := r.enter(c); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

func (r *registry) enter(c *owned) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return net.ErrClosed
	case len(r.open) >= r.limit:
		return errTooMany
	}
	r.open[c] = struct{}{}
	return nil
}

// release lets a connection go without closing it.
func (r *registry) release(c *owned) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, c)
	return c.Conn
}

// close closes every connection and turns away those that still come.
func (r *registry) close() {
	r.mu.Lock()
	r.closed = true
	all := slices.Collect(maps.Keys(r.open))
	r.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}

// Close closes the connection and forgets it.
func (c *owned) Close() error { return c.in.release(c).Close() }
