package main

import (
	"context"
	"net"
	"time"
)

// network is how this program listens and dials, for Raft and for HTTP alike: the
// one place where encryption takes TCP's.
type network struct{}

// Listen binds address, "host:port".
func (network) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// Dial connects to address within timeout; zero leaves the limit to the system.
func (n network) Dial(address string, timeout time.Duration) (net.Conn, error) {
	return (&net.Dialer{Timeout: timeout}).Dial("tcp", address)
}

// DialContext is Dial as HTTP asks for it.
func (network) DialContext(ctx context.Context, kind, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: httpDialLimit}).DialContext(ctx, kind, address)
}

// httpDialLimit bounds the wait for a connection that HTTP needs.
const httpDialLimit = 2 * time.Second
