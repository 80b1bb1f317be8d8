// Package conns keeps sets of open connections: each has a bound on their number, and ends them all at once.
package conns

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
)

// ErrTooMany is the error of a connection that a set has no room for.
var ErrTooMany = errors.New("too many connections")

// Set holds one owner's open connections.
type Set struct {
	limit   int
	each    int            // of one address; 0: no bound
	of      map[string]int // open connections by address, if there is a bound
	serving sync.WaitGroup
	mu      sync.Mutex
	open    map[*Conn]struct{}
	closed  bool
}

// Conn is a connection that leaves its set when it is closed.
type Conn struct {
	net.Conn
	in   *Set
	host string // by which the set counts it, if there is a bound of each address
}

// New returns a set of at most so many connections.
func New(limit int) *Set {
	return &Set{limit: limit, open: map[*Conn]struct{}{}}
}

// NewShared returns a set of at most so many connections, and so many of each address: one machine cannot take all
// places.
func NewShared(limit, each int) *Set {
	return &Set{limit: limit, each: each, of: map[string]int{}, open: map[*Conn]struct{}{}}
}

// Host returns the address of the machine at the other side of a connection, without the port.
func Host(conn net.Conn) string {
	address := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// Adopt adds a connection, or closes it and returns why it may not stay.
func (s *Set) Adopt(conn net.Conn) (*Conn, error) {
	c := s.Wrap(conn)
	return c, s.Start(c, nil)
}

// Wrap makes a connection ready for Start.
func (s *Set) Wrap(conn net.Conn) *Conn { return &Conn{Conn: conn, in: s} }

// Start adds a connection and runs serve for it, if that is not nil, in a goroutine that Wait waits for. A
// connection that may not stay is closed.
func (s *Set) Start(c *Conn, serve func()) error {
	err := s.enter(c, serve)
	if err != nil {
		_ = c.Conn.Close()
	}
	return err
}

func (s *Set) enter(c *Conn, serve func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return net.ErrClosed
	case len(s.open) >= s.limit:
		return ErrTooMany
	}
	if s.each > 0 {
		if c.host = Host(c.Conn); s.of[c.host] >= s.each {
			return ErrTooMany
		}
		s.of[c.host]++
	}
	s.open[c] = struct{}{}
	if serve != nil {
		s.serving.Go(serve)
	}
	return nil
}

// Wait returns, after Close, when all serving goroutines have ended.
func (s *Set) Wait() { s.serving.Wait() }

// Release removes a connection without closing it.
func (s *Set) Release(c *Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, is := s.open[c]; is && s.each > 0 {
		if s.of[c.host]--; s.of[c.host] == 0 {
			delete(s.of, c.host)
		}
	}
	delete(s.open, c)
	return c.Conn
}

// Close closes every connection and refuses those that still come.
func (s *Set) Close() {
	s.mu.Lock()
	s.closed = true
	all := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}

// Close closes the connection and removes it.
func (c *Conn) Close() error { return c.in.Release(c).Close() }
