package core

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/signin"
	"github.com/berth-gpu/berth/trust"
)

type connKey struct{}

// keepConn adds the connection of a request to its context.
func keepConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// node returns the node whose certificate the sender of a request has, or the one that the peer has verified which
// passed the request on; empty: there is no such certificate.
func (g *gate) node(r *http.Request) model.NodeID {
	if passed := forward.PassedOn(r.Context()); passed != nil {
		return passed.Node
	}
	conn, is := r.Context().Value(connKey{}).(net.Conn)
	if !is || g.prove == nil {
		return ""
	}
	if i, ok := g.prove(conn); ok && i.Role == trust.RoleNode {
		return model.NodeID(i.Name)
	}
	return ""
}

// outlived reports whether the certificate of a request's sender has expired since the connection began.
func (g *gate) outlived(r *http.Request) bool {
	conn, is := r.Context().Value(connKey{}).(*trust.Conn)
	return is && conn.Outlived(g.Clock())
}

// local reports whether root has sent a request on the machine of the peer that it came to.
func (g *gate) local(r *http.Request) bool {
	if passed := forward.PassedOn(r.Context()); passed != nil {
		return passed.Local
	}
	_, is := r.Context().Value(connKey{}).(*trust.LocalConn)
	return is
}

// describe fills in what this peer knows of the client that has sent a request.
func (g *gate) describe(r *http.Request, q *forward.Request) {
	q.Client, q.Node, q.Local, q.Secure = SenderOf(r.Context()), g.node(r), g.local(r), signin.Secure(r.Context())
}

// secure reports whether a request came over TLS, to this peer or to a trusted proxy before it.
func (g *gate) secure(r *http.Request) bool {
	conn, is := r.Context().Value(connKey{}).(*trust.Conn)
	return is && conn.Secure() || r.TLS != nil || g.trusts(addressOf(r)) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// withoutCredential reports whether a request shows no credential but a cookie.
func (g *gate) withoutCredential(r *http.Request) bool {
	secret, err := auth.Presented(r.Header, g.Terms().Keys.Header)
	return secret == "" && err == nil && !g.local(r)
}
