package raftnet

import (
	"net"
	"time"
)

// Network opens streams between peers, and is the one place where encryption and a simulated network replace
// TCP.
type Network interface {
	// Listen accepts streams that others dial to address.
	Listen(address string) (net.Listener, error)
	// Dial opens a stream to address within timeout; zero leaves the limit to the system.
	Dial(address string, timeout time.Duration) (net.Conn, error)
}

// TCP is the plain Network of the operating system: no encryption, no authentication.
type TCP struct{}

// Listen binds address, "host:port"; port 0 takes a free one.
func (TCP) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// Dial connects to address, "host:port".
func (TCP) Dial(address string, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", address, timeout)
}
