package core

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/mux"
)

// Limits of connections.
const (
	HeaderLimit = 5 * time.Second // for a request's header to arrive
	idleLimit   = 2 * time.Minute // between two requests
	maxHeader   = 32 << 10        // bytes
)

// life is what ends together with an API.
type life struct {
	Ctx    context.Context // ends long polls
	Cancel context.CancelFunc
	Server *http.Server
	Conns  *connections
	passed *passing
}

func newLife() life {
	ctx, cancel := context.WithCancel(context.Background())
	conns := newConnections(maxConns, maxConnsOfEach)
	return life{Ctx: ctx, Cancel: cancel, Conns: conns, passed: &passing{}, Server: &http.Server{
		ReadHeaderTimeout: HeaderLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHeader, ConnState: conns.note, ConnContext: keepConn,
	}}
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.front.ServeHTTP(w, r) }

// Serve answers requests on a listener until Shutdown, then returns nil. There may be several listeners.
func (a *API) Serve(l net.Listener) error {
	if err := a.life.Server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown accepts no more requests, ends long polls, and waits for requests that are under way
// until the context ends, including those that other peers have passed on; the remaining ones are cut off.
func (a *API) Shutdown(ctx context.Context) error {
	a.life.Cancel()
	passed := a.life.passed.end()
	err := a.life.Server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, a.life.Server.Close())
	}
	select {
	case <-passed:
	case <-ctx.Done():
	}
	a.Out.CloseIdleConnections()
	return err
}

// Ending reports whether this API accepts no more requests.
func (a *API) Ending() bool { return a.life.Ctx.Err() != nil }

// takes reports whether the path of a request has another method.
func (a *API) takes(r *http.Request, method string) bool {
	other := r.Clone(r.Context())
	other.Method = method
	var match mux.RouteMatch
	return a.Router.Match(other, &match) && match.MatchErr == nil && match.Route != nil
}
