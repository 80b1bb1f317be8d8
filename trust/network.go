package trust

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Network listens and dials for the peer port: both sides are peers of the same cluster and generation.
type Network struct {
	Credentials *Credentials
	Open        Dialer // nil: a plain TCP dialer
}

// Dialer opens a connection below TLS.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// orPlain returns a plain TCP dialer for nil.
func (d Dialer) orPlain() Dialer {
	if d == nil {
		return (&net.Dialer{}).DialContext
	}
	return d
}

// Listen binds an address "host:port".
func (n Network) Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return n.Credentials.Listen(l), nil
}

// Dial connects to a peer within a timeout; zero leaves the limit to the system.
func (n Network) Dial(address string, timeout time.Duration) (net.Conn, error) {
	ctx := context.Background()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return n.Credentials.Dial(ctx, n.Open, address)
}

// Proven returns the id of the peer at the other side of a connection.
func (n Network) Proven(conn net.Conn) string {
	c, is := conn.(*tls.Conn)
	if !is {
		return ""
	}
	state := c.ConnectionState()
	i, _ := IdentityOf(&state)
	return i.Name
}

// Dial connects to an address and completes the handshake. A nil open is a plain TCP dialer.
func Dial(ctx context.Context, open Dialer, address string, config *tls.Config) (net.Conn, error) {
	raw, err := open.orPlain()(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(explain(address, err), raw.Close())
	}
	return conn, nil
}

// HandshakeError is the failure of a handshake with the machine at an address.
type HandshakeError struct {
	Address string
	Cause   error
}

// Error returns the reason in one line.
func (e *HandshakeError) Error() string { return e.Address + ": " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *HandshakeError) Unwrap() error { return e.Cause }

func explain(address string, err error) error {
	if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) {
		err = errors.New("this address does not answer with TLS: correct the address, or start the machine there with a certificate")
	}
	return &HandshakeError{address, err}
}

// firstOfTLS is the first byte of a TLS connection: a handshake record (RFC 8446, section 5.1).
const firstOfTLS = 22

// plainRefused is the answer to a request in plain text where TLS is required.
const plainRefused = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
	"This port requires TLS: use https in place of http.\n"

// maxRefused bounds what is read of a refused request, in bytes.
const maxRefused = 64 << 10

// Listener accepts connections of HTTP over TLS, and, if Plain is set, also in plain text. What a connection is follows
// from its first byte.
type Listener struct {
	net.Listener

	Config *tls.Config
	Plain  bool
	Former func(leaf *x509.Certificate) bool // see [Credentials.Former]; nil: no certificate is
}

// Accept returns the next connection, which is a [Conn]. Nothing was read from it yet.
func (l *Listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: raw, config: l.Config, plain: l.Plain, former: l.Former}, nil
}

// Conn is a connection of HTTP that may be TLS. The first Read decides, and completes the handshake. Close ends the
// connection below TLS: a notice of the end would wait for a client that does not read, and answers of HTTP say
// themselves where they end.
type Conn struct {
	net.Conn // the connection below TLS

	config *tls.Config
	plain  bool
	former func(leaf *x509.Certificate) bool
	once   sync.Once
	err    error    // why the connection is of no use
	stream net.Conn // what is read and written

	mu  sync.Mutex
	tls *tls.Conn // nil: plain text, or nothing was read yet
}

// begin reads the first byte of the connection.
func (c *Conn) begin() {
	var first [1]byte
	if _, c.err = io.ReadFull(c.Conn, first[:]); c.err != nil {
		return
	}
	c.stream = &prefixed{Conn: c.Conn, rest: bytes.NewReader(first[:])}
	switch {
	case first[0] == firstOfTLS:
		secure := tls.Server(c.stream, c.config)
		if c.err = secure.Handshake(); c.err != nil {
			return
		}
		c.stream = secure
		c.mu.Lock()
		c.tls = secure
		c.mu.Unlock()
	case !c.plain:
		c.refuse()
		c.err = errors.New("a request in plain text where TLS is required")
	}
}

// lingers bounds for how long the rest of a refused request is read. A connection that is closed with unread bytes is
// reset, and the client would not see the answer.
const lingers = 500 * time.Millisecond

// refuse answers a request in plain text.
func (c *Conn) refuse() {
	_ = c.Conn.SetDeadline(time.Now().Add(lingers))
	_, _ = io.WriteString(c.Conn, plainRefused)
	if half, is := c.Conn.(interface{ CloseWrite() error }); is && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c.Conn, maxRefused)
	}
}

// Read reads what the other side has sent.
func (c *Conn) Read(b []byte) (int, error) {
	c.once.Do(c.begin)
	if c.err != nil {
		return 0, c.err
	}
	return c.stream.Read(b)
}

// Write sends bytes. A server has read before.
func (c *Conn) Write(b []byte) (int, error) {
	c.once.Do(c.begin)
	if c.err != nil {
		return 0, c.err
	}
	return c.stream.Write(b)
}

// secure returns the TLS connection; nil: there is none.
func (c *Conn) secure() *tls.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tls
}

// leaf returns the certificate of the other side; nil: there is none.
func (c *Conn) leaf() *x509.Certificate {
	if s := c.secure(); s != nil {
		if chain := s.ConnectionState().PeerCertificates; len(chain) > 0 {
			return chain[0]
		}
	}
	return nil
}

// Outlived reports whether the certificate of the other side has expired since the handshake, or is of a former authority. The server then
// closes the connection after its answer, and the client connects with its present certificate.
func (c *Conn) Outlived(now time.Time) bool {
	leaf := c.leaf()
	return leaf != nil && (now.After(leaf.NotAfter) || c.former != nil && c.former(leaf))
}

// Secure reports whether the connection is encrypted.
func (c *Conn) Secure() bool { return c.secure() != nil }

// prefixed is a connection of which some bytes were read.
type prefixed struct {
	net.Conn

	rest *bytes.Reader
}

func (p *prefixed) Read(b []byte) (int, error) {
	if p.rest.Len() > 0 {
		return p.rest.Read(b)
	}
	return p.Conn.Read(b)
}
