package raftnet

import (
	"errors"
	"net"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Network opens streams between peers, and is the one place where encryption and a simulated network replace
// TCP.
type Network interface {
	// Listen accepts streams that others dial to address.
	Listen(address string) (net.Listener, error)
	// Dial opens a stream to address within timeout; zero leaves the limit to the system.
	Dial(address string, timeout time.Duration) (net.Conn, error)
}

// Prover is a Network whose connections prove the id of the peer at the other side. A connection without a proof is
// closed.
type Prover interface {
	// Proven returns the id of the peer at the other side of a connection from which bytes were read, or which was
	// dialled; empty: that side has proven none.
	Proven(conn net.Conn) string
}

var errUnproven = errors.New("the other side has no certificate of a peer")

// prove returns the id that the other side of a connection has proven; empty without an error: the network proves none.
func prove(n Network, conn net.Conn) (model.PeerID, error) {
	p, is := n.(Prover)
	if !is {
		return "", nil
	}
	id := model.PeerID(p.Proven(conn))
	if id == "" {
		return "", errUnproven
	}
	return id, nil
}

// TCP is the plain Network of the operating system: no encryption, no authentication.
type TCP struct{}

// Listen binds address, "host:port"; port 0 takes a free one.
func (TCP) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// Dial connects to address, "host:port".
func (TCP) Dial(address string, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", address, timeout)
}
