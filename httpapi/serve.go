package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/mux"
)

// Limits of connections.
const (
	headerLimit = 5 * time.Second // for a request's header to arrive
	idleLimit   = 2 * time.Minute // between two requests
	maxHeader   = 32 << 10        // bytes
)

// life is what ends together with an API.
type life struct {
	ctx    context.Context // ends long polls
	cancel context.CancelFunc
	server *http.Server
	conns  *connections
}

func newLife() life {
	ctx, cancel := context.WithCancel(context.Background())
	conns := newConnections(maxConns, maxConnsOfEach)
	return life{ctx: ctx, cancel: cancel, conns: conns, server: &http.Server{
		ReadHeaderTimeout: headerLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHeader, ConnState: conns.note,
	}}
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.router.ServeHTTP(w, r) }

// Serve answers requests on a listener until Shutdown, then returns nil.
func (a *API) Serve(l net.Listener) error {
	a.life.server.Handler = a
	a.life.server.ErrorLog = slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)
	if err := a.life.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown accepts no more requests, ends long polls, and waits for requests that are under way
// until the context ends; the remaining ones are cut off.
func (a *API) Shutdown(ctx context.Context) error {
	a.life.cancel()
	err := a.life.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, a.life.server.Close())
	}
	a.out.CloseIdleConnections()
	return err
}

// ending reports whether this API accepts no more requests.
func (a *API) ending() bool { return a.life.ctx.Err() != nil }

// takes reports whether the path of a request has another method.
func (a *API) takes(r *http.Request, method string) bool {
	other := r.Clone(r.Context())
	other.Method = method
	var match mux.RouteMatch
	return a.router.Match(other, &match) && match.MatchErr == nil && match.Route != nil
}
