package forward

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// Request is a client's request, as one peer passes it on to another. It holds the credential that the client
// has sent, by which the other peer identifies the caller itself.
type Request struct {
	Method string              `cbor:"1,keyasint"`
	Target string              `cbor:"2,keyasint"` // path and query
	Header map[string][]string `cbor:"3,keyasint,omitempty"`
	Body   []byte              `cbor:"4,keyasint,omitempty"`
	Client string              `cbor:"5,keyasint,omitempty"` // address from which the client has sent it
	Node   model.NodeID        `cbor:"6,keyasint,omitempty"` // whose certificate the client has, which the other peer relies on
	Local  bool                `cbor:"7,keyasint,omitempty"` // root has sent it on the machine of the peer
	Secure bool                `cbor:"8,keyasint,omitempty"` // the client has sent it over TLS
}

// Answer is the other peer's answer to it.
type Answer struct {
	Status int                 `cbor:"1,keyasint"`
	Header map[string][]string `cbor:"2,keyasint,omitempty"`
	Body   []byte              `cbor:"3,keyasint,omitempty"`
}

// request is the call by which requests are passed on.
var request = call.Define[Request, Answer](call.Forward, "request")

// Send passes a request on to a peer.
type Send func(ctx context.Context, to peer.Server, q *Request) (*Answer, error)

// AtLeader makes a call at the leader; if this peer leads, own answers it. Without a known leader the error is [peer.ErrNoLeader], without
// a client of calls [call.ErrNotSent].
func AtLeader[Q, A any](
	ctx context.Context, m Members, calls *call.Client, n call.Name[Q, A], q *Q, own func(context.Context) (*A, error),
) (*A, error) {
	leader, _ := m.Leader()
	switch {
	case leader.Self:
		return own(ctx)
	case leader.Address == "":
		return nil, peer.ErrNoLeader
	}
	return Ask(ctx, calls, peer.Server{ID: leader.ID, Address: leader.Address}, n, q)
}

// Ask makes a call at another peer.
func Ask[Q, A any](ctx context.Context, calls *call.Client, to peer.Server, n call.Name[Q, A], q *Q) (*A, error) {
	if calls == nil {
		return nil, fmt.Errorf("%w: this peer makes no calls", call.ErrNotSent)
	}
	return call.Do(ctx, calls, to, n, q)
}

// Over returns what passes requests on over a client of calls.
func Over(client *call.Client) Send {
	return func(ctx context.Context, to peer.Server, q *Request) (*Answer, error) {
		return Ask(ctx, client, to, request, q)
	}
}

// Serve gives the requests that other peers pass on to a handler, in place of the former one. Until then they
// are refused in a way that has the other peer try again: so it must be called only once the handler has all
// its routes, as a client would be answered otherwise that there is no such path.
func Serve(server *call.Server, h http.Handler) { call.Handle(server, request, serve(h)) }

// Passed is the way that a request has come.
type Passed struct {
	From model.PeerID // the peer that has passed it on
	Node model.NodeID // the node that has sent it, as that peer has verified; empty: none
	// Local reports whether root has sent it on the machine of that peer.
	Local bool
	// Secure reports whether the client has sent it over TLS.
	Secure bool
}

type passedKey struct{}

// PassedOn returns how a request was passed on; nil: it comes from a client. No header can make a client's
// request one that was passed on.
func PassedOn(ctx context.Context) *Passed {
	p, _ := ctx.Value(passedKey{}).(*Passed)
	return p
}

// serve answers calls by a handler.
func serve(h http.Handler) func(context.Context, model.PeerID, *Request) (*Answer, error) {
	return func(ctx context.Context, from model.PeerID, q *Request) (*Answer, error) {
		target, err := url.ParseRequestURI(q.Target)
		if err != nil {
			return nil, &call.RemoteError{Kind: call.KindMalformed, Text: "the request has no valid target"}
		}
		client := ""
		if address, err := netip.ParseAddr(q.Client); err == nil { // any other text would go to the audit trail as it is
			client = address.String()
		}
		header := http.Header(q.Header)
		if header == nil {
			header = http.Header{}
		}
		r := &http.Request{
			Method: q.Method, URL: target, RequestURI: q.Target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
			Body: reader(q.Body), ContentLength: int64(len(q.Body)), RemoteAddr: net.JoinHostPort(client, "0"),
		}
		w := &writer{header: http.Header{}}
		h.ServeHTTP(w, r.WithContext(context.WithValue(ctx, passedKey{}, &Passed{from, q.Node, q.Local, q.Secure})))
		if w.cut {
			return nil, errCut
		}
		w.WriteHeader(http.StatusOK)
		return &Answer{Status: w.status, Header: w.sent, Body: w.body}, nil
	}
}

var errCut = errors.New("the answer was cut off")

// writer keeps an answer.
type writer struct {
	header http.Header
	sent   http.Header // as it was when the answer began
	status int
	body   []byte
	cut    bool
}

// Header returns that of the answer.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader begins the answer.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status, w.sent = status, w.header.Clone()
	}
}

// Write adds to the answer.
func (w *writer) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, data...)
	return len(data), nil
}

// Hijack cuts the answer off, as taking over a connection to close it does; there is none to take over.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.cut = true
	return nil, nil, errCut
}
