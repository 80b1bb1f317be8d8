package main

import (
	"context"
	"net"
	"time"
)

// network is how this program listens and dials, for Raft and for HTTP alike: the one place where
// TLS would replace TCP.
type network struct{}

// Listen binds an address "host:port".
func (network) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// Dial connects to an address within a timeout; zero leaves the limit to the system.
func (n network) Dial(address string, timeout time.Duration) (net.Conn, error) {
	return (&net.Dialer{Timeout: timeout}).Dial("tcp", address)
}

// DialContext is Dial in the form that net/http needs.
func (network) DialContext(ctx context.Context, kind, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: httpDialLimit}).DialContext(ctx, kind, address)
}

// httpDialLimit bounds the wait for an HTTP connection.
const httpDialLimit = 2 * time.Second
