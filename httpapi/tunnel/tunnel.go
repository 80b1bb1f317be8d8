// Package tunnel carries streams of bytes in both directions through HTTP: from a program to a peer, and from the peer to a node.
package tunnel

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"
)

// Protocol is the subprotocol of tunnels (RFC 6455, section 1.9). Both sides require it.
const Protocol = "berth.tunnel.1"

// Conn is one end of a tunnel. Close lets the other end read all that was written before.
type Conn struct {
	net.Conn
	socket *websocket.Conn
}

func newConn(ctx context.Context, socket *websocket.Conn) *Conn {
	return &Conn{Conn: websocket.NetConn(ctx, socket, websocket.MessageBinary), socket: socket}
}

// Close ends the tunnel.
func (c *Conn) Close() error { return c.socket.Close(websocket.StatusNormalClosure, "") }

// ErrNoTunnel is the error of a request that does not ask for a tunnel.
var ErrNoTunnel = errors.New("this path takes a WebSocket with the subprotocol " + Protocol + ": use a program of Berth")

// Asked reports whether a request asks for a tunnel, and [ErrNoTunnel] if it does not.
func Asked(r *http.Request) error {
	for _, one := range r.Header.Values("Sec-Websocket-Protocol") {
		if one == Protocol {
			return nil
		}
	}
	return ErrNoTunnel
}

// Accept answers a request with a tunnel, which ends with the context. If that fails, the answer has been sent.
func Accept(ctx context.Context, w http.ResponseWriter, r *http.Request) (*Conn, error) {
	socket, err := websocket.Accept(w, r,
		&websocket.AcceptOptions{Subprotocols: []string{Protocol}, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil, err
	}
	return newConn(ctx, socket), nil
}

// Dial asks for a tunnel, which ends with the context; limit bounds the time until the answer. If the other side refuses, the error is not
// nil and answer is what it said, with the first kilobyte of its body; otherwise answer is nil.
func Dial(ctx context.Context, by http.RoundTripper, to *url.URL, header http.Header, limit time.Duration) (c *Conn, answer *http.Response,
	err error,
) {
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	socket, answer, err := websocket.Dial(short, to.String(), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: by}, HTTPHeader: header, Subprotocols: []string{Protocol},
		CompressionMode: websocket.CompressionDisabled,
	})
	if sent, is := errors.AsType[*url.Error](err); is {
		err = sent.Err // without the words of libraries, and without a URL, which is that of a plain connection
	}
	if err != nil {
		return nil, answer, err
	}
	if socket.Subprotocol() != Protocol {
		return nil, nil, errors.Join(ErrNoTunnel, socket.CloseNow())
	}
	return newConn(ctx, socket), nil, nil
}

// Join passes all bytes between two connections on until one of them ends or the context does, and closes both.
func Join(ctx context.Context, a, b net.Conn) {
	stop := context.AfterFunc(ctx, func() {
		_ = a.Close()
		_ = b.Close()
	})
	defer stop()
	other := make(chan struct{})
	go func() {
		defer close(other)
		pass(a, b)
	}()
	pass(b, a)
	<-other
}

// pass copies one direction. The end of one side is the end of both: all before it has been passed on.
func pass(from, to net.Conn) {
	_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from}) // the end of either side
	_ = to.Close()
}
