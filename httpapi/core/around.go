package core

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/signin"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// WriteLimit bounds the time of an answer from its first byte to its last; one that streams renews
// it with each write.
const WriteLimit = 30 * time.Second

// FollowerSlow bounds the time for the reader of a stream to read what was sent.
const FollowerSlow = 10 * time.Second

// otherRoutes is the route under which requests without a route are counted.
const otherRoutes = "other"

// Around wraps every handler: it counts, authenticates the caller and checks the route's role,
// bounds the time that a client may take to read the answer, converts a panic to an error, and
// refuses changes from pages of other sites, which a user's browser may show.
func (a *API) Around(method, route string, next http.Handler) http.Handler {
	seen := a.Meter.Route(cmp.Or(route, otherRoutes))
	rule, known := auth.Find(method, route)
	if route == "" { // there is no route to call
		rule, known = auth.Rule{Method: "any"}, true
	}
	_, changes := next.(Write)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec := &recorder{ResponseWriter: w}
		defer func() {
			if reason := recover(); reason != nil {
				a.rescue(rec, r, reason)
			}
			seen.Done(rec.status, time.Since(began))
		}()
		if leader, _ := a.Peer.Members.Leader(); leader.ID != "" {
			w.Header().Set(wire.HeaderLeader, string(leader.ID))
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if a.gate.outlived(r) {
			w.Header().Set("Connection", "close") // the next request comes with a newer certificate
		}
		passed := forward.PassedOn(r.Context()) != nil
		entered, f := a.examine(r, rule, known, passed)
		auth.From(entered.Context()).Warn(w.Header(), model.TimeOf(a.Config.Now()))
		if f == nil && passed && !changes && route != "" {
			f = problem.Refuse(wire.CodeMethod, "only changes are passed on to the leader")
		}
		if f == nil && !passed { // otherwise the peer that passed it on counts it
			var answered func()
			if answered, f = a.open.begin(auth.From(entered.Context()), addressOf(entered)); f == nil {
				defer answered()
			}
		}
		defer drain(w)
		if f != nil {
			a.turnAway(rec, entered, f)
			return
		}
		entered = withCaller(entered)
		a.noteRead(entered, rule)
		if !changes {
			if rec.held = a.held.hold(entered, rule); rec.held != nil {
				defer rec.held.release()
				entered = entered.WithContext(rec.held.ctx)
			}
		}
		next.ServeHTTP(rec, entered)
	})
}

// examine identifies the caller of a request, and returns why the request may not go to its handler. The host
// that a request names, and its client behind a proxy, are for the peer that it came to first.
func (a *API) examine(r *http.Request, rule auth.Rule, known, passed bool) (entered *http.Request, f *problem.Failure) {
	if !passed {
		// The cookie counts only if no other credential is shown, and not in requests from the pages of other servers than the peers.
		r = a.Sessions.Read(r, a.gate.secure(r), a.gate.withoutCredential(r) && (!signin.Foreign(r) || a.fromPeer(r)))
		r = a.gate.located(r)
		f = a.gate.misdirected(r)
	}
	if f == nil {
		f = a.apart(rule)
	}
	if f == nil {
		f = checkKey(r)
	}
	entered = r
	if f == nil {
		entered, f = a.gate.enter(r, rule, known)
	}
	if f == nil && a.gate.origins.Check(r) != nil && !a.fromPeer(r) {
		f = problem.Refuse(model.CodeDenied.String(), "requests from pages of other sites may not change anything")
	}
	if f == nil && rule.Method == http.MethodGet {
		f = a.gate.owns(rule, entered)
	}
	if f == nil && !passed {
		a.Sessions.Used(auth.From(entered.Context()))
	}
	return entered, f
}

// apart refuses requests while this peer takes no part in its cluster: clients then go on to another peer, or show the reason. What shows
// the peer itself, and what helps other members, is answered.
func (a *API) apart(rule auth.Rule) *problem.Failure {
	if a.Config.Apart == nil || rule.Least == model.RoleNone && rule.Path != "/session" {
		return nil
	}
	if why := a.Config.Apart(); why != "" {
		return problem.Refuse(wire.CodeNoLeader, why)
	}
	return nil
}

// checkKey refuses an Idempotency-Key that is blank or given twice: the request would be carried out
// again whenever it is repeated, which its sender meant to prevent.
func checkKey(r *http.Request) *problem.Failure {
	keys, given := r.Header[idempotencyKey]
	switch {
	case !given:
		return nil
	case len(keys) > 1:
		return problem.Refuse(wire.CodeMalformed, fmt.Sprintf("there are %d "+idempotencyKey+" headers: send one", len(keys)))
	case strings.TrimSpace(keys[0]) == "":
		return problem.Refuse(wire.CodeMalformed, "the "+idempotencyKey+" header is empty: send a new UUIDv7 for each request, or leave the header out")
	}
	return nil
}

// idempotencyKey is the header that names a request, so that the request is carried out once.
const idempotencyKey = "Idempotency-Key"

// drainLimit bounds the time for the rest of a body that no handler has read.
const drainLimit = time.Second

// drain bounds how long a client may keep the connection for a body that no handler reads: the
// server reads the rest of it after the answer.
func drain(w http.ResponseWriter) {
	// A writer without deadlines has no slow client either.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainLimit))
}

// turnAway refuses a request before its handler. A caller that exceeds its rate is not recorded, so
// that a flood cannot displace other records.
func (a *API) turnAway(w http.ResponseWriter, r *http.Request, f *problem.Failure) {
	if f.Code != wire.CodeRateLimited && f.Code != wire.CodeOverloaded {
		a.noteRefusal(w, withCaller(r), f.Status, f.Code)
	}
	f.Write(w)
}

// rescue answers in place of a handler that panicked. A client that left in the middle of an answer
// is no defect.
func (a *API) rescue(w *recorder, r *http.Request, reason any) {
	if w.status != 0 && r.Context().Err() != nil {
		Cut(w)
		return
	}
	a.Log.Error("a handler panicked; this is a defect", "method", r.Method, "path", r.URL.Path, "reason", reason,
		"stack", string(debug.Stack()))
	if w.status == 0 {
		problem.Usual(wire.CodeInternal).Write(w)
		return
	}
	Cut(w)
}

// Cut closes the connection under an unfinished answer, so that the answer does not look complete.
func Cut(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close() // the client has no way to learn of an error
	}
}

// recorder records an answer's status, and stops the answer once the caller has lost the right to
// it.
type recorder struct {
	http.ResponseWriter

	status  int
	held    *heldRequest // nil: the caller's rights do not end meanwhile
	refused bool         // a problem was written in place of the answer
}

// errEnded is the error of writes to callers that have lost the right to read on.
var errEnded = errors.New("the caller has lost the right to read this")

// WriteHeader starts the answer, or answers with the reason why the caller may not have it.
func (r *recorder) WriteHeader(status int) {
	if r.refused {
		return
	}
	if r.status == 0 && status >= http.StatusOK && r.held != nil {
		if f := r.held.check(); f != nil {
			for _, name := range []string{"ETag", wire.HeaderIndex, wire.HeaderSource, "Trailer"} { // of the answer that is withheld
				r.Header().Del(name)
			}
			r.held = nil
			f.Write(r)
			r.refused = true
			return
		}
	}
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
		// A writer without deadlines has no slow client either.
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(WriteLimit))
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write writes part of the answer.
func (r *recorder) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if r.refused {
		return len(data), nil
	}
	if r.held != nil && EndedBy(r.held.ctx) != nil {
		return 0, errEnded
	}
	return r.ResponseWriter.Write(data)
}

// Conclude returns the writer for the end of a stream, which contains the reason.
func Conclude(w http.ResponseWriter) http.ResponseWriter {
	if r, is := w.(*recorder); is {
		return r.ResponseWriter
	}
	return w
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// NotFound answers that there is no such path.
func NotFound(w http.ResponseWriter, _ *http.Request) {
	problem.Refuse(wire.CodeNotFound, "there is no such path; /openapi.json lists them all").Write(w)
}

// wrongMethod answers with the methods that a path has.
func (a *API) wrongMethod(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if a.takes(r, method) {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	problem.Refuse(wire.CodeMethod, "this path does not support this method; it supports "+strings.Join(allowed, ", ")).Write(w)
}
