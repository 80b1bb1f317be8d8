package trust

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// Members listens and dials between members, peers and nodes alike: both sides prove what they are. The connections are watched.
type Members struct {
	Credentials *Credentials
	Open        Dialer // nil: a plain TCP dialer
}

// Listen binds an address.
func (n Members) Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return n.Credentials.listen(l, DemandProof), nil
}

// Greet completes the handshake of an accepted connection, and returns the role and the name of the other side: "node/gpu1".
func (n Members) Greet(ctx context.Context, conn net.Conn) (string, error) {
	secure, is := conn.(*tls.Conn)
	if !is {
		return "", errors.New("the connection is not encrypted")
	}
	if err := secure.HandshakeContext(ctx); err != nil {
		return "", err
	}
	return holderOf(secure), nil
}

// Dial connects to a member, and returns its role and its name.
func (n Members) Dial(ctx context.Context, address string) (net.Conn, string, error) {
	conn, err := n.Credentials.dial(ctx, n.Open, address, "")
	if err != nil {
		return nil, "", err
	}
	secure, is := conn.(*tls.Conn)
	if !is {
		return nil, "", errors.Join(errors.New("the connection is not encrypted"), conn.Close())
	}
	return conn, holderOf(secure), nil
}

func holderOf(conn *tls.Conn) string {
	state := conn.ConnectionState()
	i, _ := IdentityOf(&state)
	return string(i.Role) + "/" + i.Name
}
