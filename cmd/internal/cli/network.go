package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// HTTPDialLimit bounds the wait for an HTTP connection.
const HTTPDialLimit = 2 * time.Second

// Dial opens connections for HTTP.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// DialPlain connects without encryption.
func DialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: HTTPDialLimit}).DialContext(ctx, network, address)
}

// dialOf returns what connects to peers at these addresses: by TLS if a file names the authority of their cluster, and
// else in plain text, which is refused for other machines. Tokens and commands must not be readable on a network.
func dialOf(addresses []string, authority string) (Dial, error) {
	if path, is := localSocket(addresses); is {
		return DialSocket(path), nil
	}
	if authority == "" {
		for _, address := range addresses {
			if !OnLoopback(address) {
				return nil, fmt.Errorf("%s is another machine, and without the certificate of the cluster's authority the connection would not be encrypted: "+
					"log in with berth login, or save the output of berth cert authority (on a peer) and name the file", address)
			}
		}
		return DialPlain, nil
	}
	text, err := os.ReadFile(authority) //nolint:gosec // the file that the caller names
	if err != nil {
		return nil, err
	}
	list, err := trust.DecodeCertificates(text, trust.MaxAuthorities)
	if err != nil {
		return nil, fmt.Errorf("%s does not hold the certificates of an authority: %w", authority, err)
	}
	return dialKnown(trust.Known{Authorities: list}, nil), nil
}

// DialSocket returns what connects to the socket of a peer on this machine.
func DialSocket(path string) Dial {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: HTTPDialLimit}).DialContext(ctx, "unix", path)
	}
}

// dialKnown returns what connects to peers of a cluster. moved, which may be nil, is called with what is to be known of the
// cluster from now on, where that has changed.
func dialKnown(known trust.Known, moved func(trust.Known)) Dial {
	return DialTLS(trust.Visitor(known, time.Now, moved))
}

// DialTLS returns what connects by a TLS configuration, for transports of HTTP: these take the connection as a plain one,
// so that their URLs begin with http.
func DialTLS(c *tls.Config) Dial {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, HTTPDialLimit)
		defer cancel()
		return trust.Dial(ctx, DialPlain, address, c)
	}
}

// unixPrefix begins the address of a peer's socket.
const unixPrefix = "unix:"

// localSocket returns the path of the socket that is the only address; false: there are others.
func localSocket(addresses []string) (path string, is bool) {
	if len(addresses) != 1 {
		return "", false
	}
	return strings.CutPrefix(addresses[0], unixPrefix)
}

// OnLoopback reports whether only processes of this machine can reach an address "host:port".
func OnLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (ip != nil && ip.IsLoopback() || host == "localhost")
}

// CheckOwnAddress returns why others cannot reach this machine by a text, "host:port": it is no address, or stands for all
// addresses of the machine.
func CheckOwnAddress(address string) error {
	if err := CheckAddress(address); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("%s stands for all addresses of this machine, and others need one of them: name the address by which they reach this machine", address)
	}
	return nil
}

// CheckAddress returns why a text is not the address of a listener, "host:port".
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || port == "" || port == "0" {
		return fmt.Errorf("%q is not host:port with a port above 0, such as 127.0.0.1:7000", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil { // a number up to 65535, or a name of /etc/services
		return fmt.Errorf("%q has no port that exists: give one from 1 to 65535, such as 127.0.0.1:7000", address)
	}
	return nil
}
