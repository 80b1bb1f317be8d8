package core

import (
	"net/http"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// preflightAge is for how many seconds a browser may keep the answer to a preflight request.
const preflightAge = "600"

// Origins returns the origins under which browsers reach the peers: their public URLs, or else their addresses.
func (a *API) Origins() (out []string) {
	s := a.State()
	for _, p := range s.Peers.All() {
		switch {
		case p.PublicURL != "":
			out = append(out, strings.TrimSuffix(p.PublicURL, "/"))
		case p.APIAddress != "":
			out = append(out, endpoint.Origin(p.APIAddress))
		}
	}
	return out
}

// fromPeer reports whether a request comes from the page that another peer has served.
func (a *API) fromPeer(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin != "" && slices.ContainsFunc(a.Origins(), func(o string) bool { return strings.EqualFold(o, origin) })
}

// shared lets the pages of other peers use this one (Fetch, section 3.2, "CORS protocol"), and no others: a page goes on here when the peer
// that has served it fails.
// The cookie of a session counts for them, too, where the browser sends it: at peers on the same host.
func (a *API) shared(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Add("Vary", "Origin")
		if !a.fromPeer(r) || a.gate.misdirected(r) != nil {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h.Set("Access-Control-Allow-Credentials", "true") // the cookie of a session
		h.Set("Access-Control-Expose-Headers", strings.Join([]string{
			wire.HeaderIndex, wire.HeaderLeader, wire.HeaderTime, wire.HeaderVersion, wire.HeaderCode, wire.HeaderSource, idempotencyKey, "ETag", "Retry-After",
			wire.HeaderAttempt, wire.HeaderLogOffset, wire.HeaderLogSize, wire.HeaderLogEnded, wire.HeaderLogNext,
		}, ", "))
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-None-Match, "+idempotencyKey)
		h.Set("Access-Control-Max-Age", preflightAge)
		w.WriteHeader(http.StatusNoContent)
	})
}
