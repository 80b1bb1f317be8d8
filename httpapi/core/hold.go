package core

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const (
	// settle is how long a request may take before its caller is reviewed. Most requests
	// are over by then and cost a review nothing.
	settle = 250 * time.Millisecond
	// reviewEvery bounds the time between two reviews, so that a clock that is set forward ends
	// what has expired.
	reviewEvery = 5 * time.Second
)

// Write is a handler of changes. Such a request ends within forward.Patience, its caller is
// identified again where the change is made, and the outcome must reach the caller: a review never
// cuts it short.
type Write struct{ http.Handler }

// heldRequests are the requests that take longer than settle: long polls, streams of events,
// followed logs, large downloads. One goroutine reviews all of them, and only while there
// are any: after each change of tokens, users, projects or keys, and when a token expires.
// One whose caller may not make the request any more is canceled.
type heldRequests struct {
	gate  *gate
	wakes *wakes
	nudge chan struct{} // capacity 1: review now

	mu       sync.Mutex
	live     map[*heldRequest]struct{}
	watching bool // the goroutine runs
}

// heldRequest is one such request.
type heldRequest struct {
	all     *heldRequests
	rule    auth.Rule
	vars    map[string]string // of the path
	ctx     context.Context
	end     context.CancelCauseFunc
	settled *time.Timer
	live    atomic.Bool // it takes longer than settle
	since   uint64      // index of the state that the caller was identified by
	over    bool        // under heldRequests.mu: the request has been answered
}

func newHeldRequests(g *gate, w *wakes) *heldRequests {
	return &heldRequests{gate: g, wakes: w, nudge: make(chan struct{}, 1), live: map[*heldRequest]struct{}{}}
}

// hold returns the request as a held one, whose context is canceled, with a *failure as its
// cause, once the caller may not make the request any more. It must be released when the
// request has been answered. Without authority that could end it returns nil.
func (h *heldRequests) hold(r *http.Request, rule auth.Rule) *heldRequest {
	if !reviewed(auth.From(r.Context())) {
		return nil
	}
	s := h.gate.Peer.State()
	one := &heldRequest{all: h, rule: rule, vars: mux.Vars(r), since: s.Index}
	one.ctx, one.end = context.WithCancelCause(r.Context())
	one.settled = time.AfterFunc(settle, func() { h.add(one) })
	return one
}

// release ends a held request that has been answered.
func (one *heldRequest) release() {
	one.settled.Stop()
	one.all.remove(one)
	one.end(nil)
}

// check reviews a held request now, if it has taken long enough for a review, and returns why it is
// over; nil: it is not. Answers begin with it, since the change for which a long poll has waited
// may be the one that ends it.
func (one *heldRequest) check() *problem.Failure {
	if one.live.Load() {
		s := one.all.gate.Peer.State()
		one.review(&s)
	}
	return EndedBy(one.ctx)
}

// reviewed reports whether the rights of a caller can end while a request is answered. Peers' own
// requests and those without a credential on open routes have no rights that could end.
func reviewed(c *auth.Caller) bool { return c.Kind == auth.Open || !c.Credential.IsZero() }

func (h *heldRequests) add(one *heldRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one.over {
		return
	}
	one.live.Store(true)
	h.live[one] = struct{}{}
	if !h.watching {
		h.watching = true
		go h.watch()
		return
	}
	h.ReviewNow()
}

func (h *heldRequests) remove(one *heldRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.over = true
	if delete(h.live, one); len(h.live) == 0 && h.watching {
		h.ReviewNow() // which ends the goroutine
	}
}

// ReviewNow starts a review that does not wait for a change.
func (h *heldRequests) ReviewNow() {
	select {
	case h.nudge <- struct{}{}:
	default: // a review is due already
	}
}

// Count returns how many requests are reviewed.
func (h *heldRequests) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.live)
}

// Reviews reports whether the goroutine that reviews them runs.
func (h *heldRequests) Reviews() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watching
}

// watch reviews all held requests until there are none.
func (h *heldRequests) watch() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		list := h.list()
		if len(list) == 0 {
			return
		}
		s := h.gate.Peer.State()
		timer.Reset(h.review(&s, list))
		select {
		case <-h.wakes.Changed(Topics(model.TopicSettings), s.Index):
		case <-timer.C:
		case <-h.nudge:
		}
	}
}

// list returns the live held requests. If there are none the calling goroutine must end.
func (h *heldRequests) list() []*heldRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*heldRequest, 0, len(h.live))
	for one := range h.live { // order-free: each is reviewed by itself
		list = append(list, one)
	}
	h.watching = len(list) > 0
	return list
}

// review cancels the held requests that must end by the state, and returns when to review again.
func (h *heldRequests) review(s *state.State, list []*heldRequest) (next time.Duration) {
	next = reviewEvery
	for _, one := range list {
		if expires := one.review(s); expires > 0 {
			next = min(next, max(settle, time.Duration(expires-model.TimeOf(h.gate.Clock()))))
		}
	}
	return next
}

// review cancels the held request if it must end by the state, and returns when its token
// expires; 0: never.
func (one *heldRequest) review(s *state.State) (expires model.Time) {
	if s.Index < one.since || s.Settings().Incarnation.IsZero() || one.ctx.Err() != nil {
		return 0 // the caller was identified by a newer state
	}
	g, was := one.all.gate, auth.From(one.ctx)
	is, f := g.still(s, was, one.rule, one.vars)
	if f != nil {
		g.Log.Info("request_ended", "code", f.Code, "method", one.rule.Method, "path", one.rule.Path, "caller", was.Actor(), "why", f.Detail)
		one.end(f)
		return 0
	}
	auth.Renew(one.ctx, is)
	return is.Expires
}

// still identifies a caller again, and returns why the request must end; nil: it may go on.
func (g *gate) still(s *state.State, was *auth.Caller, rule auth.Rule, vars map[string]string) (*auth.Caller, *problem.Failure) {
	if was.Kind == auth.Open {
		if g.Asks(s) {
			return was, problem.Refuse(wire.CodeUnauthenticated, "this cluster requires authentication now: repeat the request with a token")
		}
		return was, nil
	}
	is := g.identify(s, was.Credential)
	if is.Kind == auth.Unidentified {
		return is, problem.Refuse(wire.CodeUnauthenticated, "this token or key was revoked or has expired while the request was answered")
	}
	if f := allowed(rule, is); f != nil {
		return is, f
	}
	if id, err := intake.JobID(vars["job_id"]); err == nil {
		if job, found := s.Jobs.Get(id); found {
			return is, OwnJob(&job, rule, is)
		}
	}
	return is, nil // a job that has left the queue was the caller's when the request began
}

// EndedBy returns why a request must end; nil: it may go on.
func EndedBy(ctx context.Context) *problem.Failure {
	f, _ := context.Cause(ctx).(*problem.Failure) //nolint:errorlint // a cause is returned as it was given
	return f
}
