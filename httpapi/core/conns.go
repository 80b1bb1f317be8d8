package core

import (
	linked "container/list"
	"net"
	"net/http"
	"sync"
)

// Bounds of open connections. Beyond them the connection is closed that has waited longest without
// a complete header, since it was opened or answered. A client that sends its request at once does
// not wait, so that it is not cut off by a flood, even from its own address.
const (
	maxConns       = 8192 // in all
	maxConnsOfEach = 2048 // of one address
)

// connections counts a server's connections.
type connections struct {
	Most, OfEach int
	proxy        func(address string) bool // all clients of a proxy share its address; nil: there is none

	mu      sync.Mutex
	all     map[net.Conn]*connection
	waiting linked.List // of *connection, longest first
	from    map[string]*origin
}

// origin is the connections of one address.
type origin struct {
	open    int
	waiting linked.List // of *connection, longest first
}

// connection is one connection, with its places in the lists of waiting ones; nil: it does not
// wait.
type connection struct {
	conn     net.Conn
	from     string
	inAll    *linked.Element
	ofOrigin *linked.Element
}

func newConnections(most, ofEach int) *connections {
	return &connections{Most: most, OfEach: ofEach, all: map[net.Conn]*connection{}, from: map[string]*origin{}}
}

// note is the server's ConnState.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	if spare := c.turn(conn, state); spare != nil {
		_ = spare.Close() // the server notices this when it reads, and ends the connection
	}
}

// turn records a change of state, and returns the connection that must be closed for a new one.
func (c *connections) turn(conn net.Conn, state http.ConnState) (spare net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		k := &connection{conn: conn, from: hostOf(conn)}
		c.all[conn] = k
		o := c.from[k.from]
		if o == nil {
			o = &origin{}
			c.from[k.from] = o
		}
		o.open++
		spare = c.room(k, o)
		c.wait(k)
	case http.StateIdle:
		if k := c.all[conn]; k != nil {
			c.wait(k)
		}
	case http.StateActive:
		if k := c.all[conn]; k != nil {
			c.work(k)
		}
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	}
	return spare
}

// room returns the connection that makes room for a new one: the one of its address that waits
// longest, else of all, else the new one itself.
func (c *connections) room(k *connection, o *origin) net.Conn {
	var longest *linked.Element
	switch {
	case o.open > c.OfEach && (c.proxy == nil || !c.proxy(k.from)):
		longest = o.waiting.Front()
	case len(c.all) > c.Most:
		longest = c.waiting.Front()
	default:
		return nil
	}
	if longest == nil {
		return k.conn
	}
	goes, is := longest.Value.(*connection)
	if !is {
		return k.conn
	}
	c.forget(goes.conn)
	return goes.conn
}

func (c *connections) wait(k *connection) {
	if k.inAll == nil && c.all[k.conn] == k {
		k.inAll, k.ofOrigin = c.waiting.PushBack(k), c.from[k.from].waiting.PushBack(k)
	}
}

func (c *connections) work(k *connection) {
	if k.inAll != nil {
		c.waiting.Remove(k.inAll)
		c.from[k.from].waiting.Remove(k.ofOrigin)
		k.inAll, k.ofOrigin = nil, nil
	}
}

func (c *connections) forget(conn net.Conn) {
	k := c.all[conn]
	if k == nil {
		return
	}
	c.work(k)
	delete(c.all, conn)
	if o := c.from[k.from]; o.open > 1 {
		o.open--
	} else {
		delete(c.from, k.from)
	}
}

// Addresses returns from how many addresses connections are open.
func (c *connections) Addresses() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.from)
}

// Open returns how many connections there are.
func (c *connections) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

func hostOf(conn net.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return conn.RemoteAddr().String()
	}
	return host
}
