package core

import (
	"context"
	"net"
	"net/http"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/trust"
)

// Prove returns the identity that the other side of a connection has proven; false: none.
type Prove func(net.Conn) (trust.Identity, bool)

// ByCertificate is the [Prove] of listeners of package trust.
func ByCertificate(conn net.Conn) (trust.Identity, bool) {
	if c, is := conn.(*trust.Conn); is {
		return c.Identity()
	}
	return trust.Identity{}, false
}

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

// agent returns the caller of a request with the certificate of a node.
func agent(node model.NodeID) *auth.Caller {
	return &auth.Caller{Kind: auth.Node, Name: string(node), Role: model.RoleAgent}
}
