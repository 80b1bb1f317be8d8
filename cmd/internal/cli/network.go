package cli

import (
	"context"
	"net"
	"time"
)

// Network is how this program listens and dials, for Raft and for HTTP alike: the one place where
// TLS would replace TCP.
type Network struct{}

// Listen binds an address "host:port".
func (Network) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// Dial connects to an address within a timeout; zero leaves the limit to the system.
func (n Network) Dial(address string, timeout time.Duration) (net.Conn, error) {
	return (&net.Dialer{Timeout: timeout}).Dial("tcp", address)
}

// DialContext is Dial in the form that net/http needs.
func (Network) DialContext(ctx context.Context, kind, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: HTTPDialLimit}).DialContext(ctx, kind, address)
}

// HTTPDialLimit bounds the wait for an HTTP connection.
const HTTPDialLimit = 2 * time.Second
