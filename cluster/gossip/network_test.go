package gossip

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"time"
)

// named is a network over loopback in which each side says its name, and is believed.
type named string

func (n named) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

func (n named) Greet(ctx context.Context, conn net.Conn) (string, error) {
	end, _ := ctx.Deadline()
	if err := conn.SetDeadline(end); err != nil {
		return "", err
	}
	if _, err := conn.Write(append([]byte{byte(len(n))}, n...)); err != nil {
		return "", err
	}
	var size [1]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return "", err
	}
	name := bytes.Repeat([]byte{0}, int(size[0]))
	_, err := io.ReadFull(conn, name)
	return string(name), err
}

func (n named) Dial(ctx context.Context, address string) (net.Conn, string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, "", err
	}
	name, err := n.Greet(ctx, conn)
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, "", errors.Join(err, conn.Close())
	}
	return conn, name, nil
}

// connect opens a connection to a member in the name of another.
func connect(as string, to *Gossip, carries byte) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, _, err := named(as).Dial(ctx, to.Addr().String())
	if err != nil {
		return nil, err
	}
	_, err = conn.Write([]byte{carries})
	return conn, err
}
