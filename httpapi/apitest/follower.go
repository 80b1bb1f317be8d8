package apitest

import (
	"context"
	"net"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/httpapi"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
)

// follower is a peer that follows a site.
type follower struct {
	*Peer
	at forward.Leader
}

// Leader returns the site that is followed.
func (f *follower) Leader() (forward.Leader, context.Context) { return f.at, f.until }

// NewFollower is a site that follows another and shares its state.
func NewFollower(t testing.TB, s *Site, keys auth.Keys) *Site {
	t.Helper()
	peer := &follower{s.Peer, forward.Leader{ID: "p1", Address: s.Wired.Address}}
	port := NewWire(t, "p2")
	api := httpapi.New(core.Config{
		Self: "p2", Version: "test", Dial: (&net.Dialer{}).DialContext, Now: func() time.Time { return s.Now() }, Terms: core.Terms{Keys: keys},
		Peer: Parts(t, peer, port),
	})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return &Site{s.Peer, t, api, server.URL, port, nil, new(atomic.Int64)}
}

// Pass makes the call by which a peer passes a request on to the peer p1 at an address.
func Pass(t testing.TB, address string, q *forward.Request) (*forward.Answer, error) {
	t.Helper()
	port := NewWire(t, "p2")
	return forward.Over(port.Calls)(t.Context(), peer.Server{ID: "p1", Address: address}, q)
}
