package core

import (
	"net"
	"net/http"
	"testing"
)

// Connections that wait are told from those that work, in every order of events.
func TestConnectionsAreCounted(t *testing.T) {
	c := newConnections(2, 2)
	pipe := func() net.Conn { a, _ := net.Pipe(); return a }
	a, b, d, e := pipe(), pipe(), pipe(), pipe()
	c.turn(a, http.StateNew)
	c.turn(a, http.StateActive)
	c.turn(b, http.StateNew)
	if got := c.turn(d, http.StateNew); got != b { // a works
		t.Error("another goes than the one that waits")
	}
	c.turn(b, http.StateClosed)
	c.turn(d, http.StateActive)
	if got := c.turn(e, http.StateNew); got != e { // all others work
		t.Error("one that works goes")
	}
	c.turn(e, http.StateClosed)
	c.turn(a, http.StateIdle)
	c.turn(a, http.StateIdle)
	c.turn(a, http.StateHijacked)
	c.turn(a, http.StateActive)
	c.turn(d, http.StateClosed)
	if c.Open() != 0 || len(c.from) != 0 || c.waiting.Len() != 0 {
		t.Errorf("%d connections, %d addresses, %d waiting are left", c.Open(), len(c.from), c.waiting.Len())
	}
}
