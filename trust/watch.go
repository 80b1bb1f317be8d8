package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"
)

// Watched connections are closed when the certificate of the other side counts no more: connections between peers exist
// for weeks, and their handshake would otherwise be the last check.

// watched is a connection below TLS.
type watched struct {
	net.Conn

	of *Credentials
}

// Close ends the connection.
func (w *watched) Close() error {
	w.of.mu.Lock()
	delete(w.of.open, w)
	w.of.mu.Unlock()
	return w.Conn.Close()
}

// accepted notes the certificate of the other side, which was just accepted.
func (w *watched) accepted(leaf *x509.Certificate, server bool) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.of.open == nil {
		w.of.open = map[*watched]proof{}
	}
	w.of.open[w] = proof{leaf: leaf, server: server}
}

// proof is the certificate by which a connection was accepted.
type proof struct {
	leaf   *x509.Certificate
	server bool      // the other side is the server
	until  time.Time // when the connection is closed, since the certificate counts no more; zero: it counts
}

// Grace is how long a connection of a peer stays open after its certificate has ceased to count: time enough for a peer
// that was removed to learn that.
const Grace = 10 * time.Second

// Sweep closes the connections of peers whose certificates are expired or revoked for [Grace] by now, or are of an authority
// that is no longer accepted, and at once those of peers that a recovery has left behind. It returns how many were closed, and how
// many will be.
func (c *Credentials) Sweep() (closed, ending int) {
	client, server := c.rules(false, ""), c.rules(true, "")
	now := c.now()
	var ended []*watched
	c.mu.Lock()
	for w, p := range c.open { // order-free: each by itself
		rules := client
		if p.server {
			rules = server
		}
		i, err := identityOf(p.leaf)
		if err == nil {
			err = rules.check(p.leaf, i)
		}
		switch {
		case err == nil && rules.issued(p.leaf):
			p.until = time.Time{}
		case FaultOf(err) == FaultGeneration: // of a cluster that was left behind: nothing that it still says counts
			ended = append(ended, w)
		case p.until.IsZero():
			p.until = now.Add(Grace)
			ending++
		case now.Before(p.until):
			ending++
		default:
			ended = append(ended, w)
		}
		c.open[w] = p
	}
	c.mu.Unlock()
	for _, w := range ended {
		_ = w.Close() // the other side connects again, if it may
	}
	return len(ended), ending
}

// Listen returns a listener for peers, whose connections are watched.
func (c *Credentials) Listen(l net.Listener) net.Listener { return c.listen(l, DemandPeer) }

func (c *Credentials) listen(l net.Listener, demand Demand) net.Listener {
	return tls.NewListener(&watcher{l, c}, c.watching(demand))
}

// watcher accepts connections that can be watched.
type watcher struct {
	net.Listener

	of *Credentials
}

// Accept returns the next connection.
func (l *watcher) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &watched{raw, l.of}, nil
}

// watching returns the configuration of a listener whose connections are watched.
func (c *Credentials) watching(demand Demand) *tls.Config {
	config := c.Server(demand)
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		w, is := hello.Conn.(*watched)
		if !is {
			return nil, nil //nolint:nilnil // the configuration stays as it is
		}
		return w.watch(c.Server(demand), false), nil
	}
	return config
}

// watch has a configuration note the certificate of the other side of one connection.
func (w *watched) watch(config *tls.Config, server bool) *tls.Config {
	verify := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if err := verify(state); err != nil {
			return err
		}
		w.accepted(state.PeerCertificates[0], server)
		return nil
	}
	return config
}

// Dial connects to a peer, over a connection that open makes; nil: a plain TCP dialer. The connection is watched.
func (c *Credentials) Dial(ctx context.Context, open Dialer, address string) (net.Conn, error) {
	return c.dial(ctx, open, address, RolePeer)
}

// dial is Dial for a role; empty: any.
func (c *Credentials) dial(ctx context.Context, open Dialer, address string, role Role) (net.Conn, error) {
	raw := &watched{of: c}
	config := raw.watch(c.client(role, nil), true)
	return Dial(ctx, func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := open.orPlain()(ctx, network, address)
		if err != nil {
			return nil, err
		}
		raw.Conn = conn
		return raw, nil
	}, address, config)
}
