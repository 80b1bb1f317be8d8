package httpapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// follower is a peer that follows a site.
type follower struct {
	*one
	at forward.Leader
}

func (f *follower) Leader() (forward.Leader, context.Context) { return f.at, f.until }

// newFollower is a site that follows another and shares its state.
func newFollower(t testing.TB, s *site, keys auth.Keys) *site {
	t.Helper()
	peer := &follower{s.one, forward.Leader{ID: "p1", Address: strings.TrimPrefix(s.url, "http://")}}
	tails, err := soft.OpenTails(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	api := New(core.Config{
		Self: "p2", Version: "test", Dial: (&net.Dialer{}).DialContext, Now: func() time.Time { return s.now() }, Terms: core.Terms{Keys: keys},
		Peer: core.Peer{
			Proposer: peer, Reader: peer, Members: peer, Tails: tails, Beats: peer,
			Telemetry: soft.NewBoard(func() time.Duration { return 0 }),
		},
	})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return &site{s.one, t, api, server.URL}
}

// What a follower passes on is carried out in its caller's name, and the leader looks
// again at the caller.
func TestPassedOn(t *testing.T) {
	s := newGuarded(t)
	var keys auth.Keys
	if err := keys.Add(service, auth.Key{Name: "training", Role: model.RoleUser}); err != nil {
		t.Fatal(err)
	}
	f := newFollower(t, s, keys)
	var job wire.Submitted
	f.do(http.MethodPost, "/queue/submit", `{"command":"true"}`, as(ann)...).into(&job)
	f.do(http.MethodDelete, "/queue/1", "", as(bob)...).problem(http.StatusForbidden, "denied")
	f.do(http.MethodPost, "/orchestrator/stop", "", as(ann)...).problem(http.StatusForbidden, "denied")
	f.do(http.MethodPost, "/orchestrator/stop", "").problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	f.do(http.MethodDelete, "/queue/1?note=a%20b", "", as(ann)...).into(new(wire.Done))
	var detail wire.Detail
	f.do(http.MethodGet, "/jobs/1", "", as(ann)...).into(&detail)
	if last := detail.Timeline[len(detail.Timeline)-1]; last.Actor != "user:ann" || last.Detail != "a b" {
		t.Errorf("the last line is %+v", last)
	}
	// A key that the leader does not have is not known to it.
	f.do(http.MethodPost, "/queue/submit", `{"command":"true"}`, as(service)...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.api.TakeOver(core.Terms{Keys: keys})
	f.do(http.MethodPost, "/queue/submit", `{"command":"true"}`, as(service)...).into(&job)
	if job.Job.User != "training" {
		t.Errorf("the job is of %q", job.Job.User)
	}
}

const (
	signedTarget = "/queue/submit?dry_run=false"
	signedBody   = `{"command":"true"}`
)

// signed is a submission of ann's that a peer with the secret has passed on.
func signed(secret model.Secret, at time.Time) *http.Request {
	p := &auth.Prover{Self: "p2", Secret: func() model.Secret { return secret }, Now: func() time.Time { return at }}
	r := httptest.NewRequest(http.MethodPost, signedTarget, strings.NewReader(signedBody))
	r.Header.Set(wire.HeaderRequestID, "k")
	r = r.WithContext(auth.With(r.Context(), &auth.Caller{Kind: auth.User, Credential: auth.HashOf(ann)}))
	p.Sign(r, []byte(signedBody))
	return r
}

// withBody is the request with another body under the same header.
func withBody(body io.Reader) func(*http.Request) *http.Request {
	return func(r *http.Request) *http.Request {
		other := httptest.NewRequest(http.MethodPost, signedTarget, body)
		other.Header = r.Header
		return other
	}
}

// A request that claims to be passed on without a valid proof has no caller.
func TestForgedProofs(t *testing.T) {
	s := newGuarded(t)
	now := s.now()
	serve := func(r *http.Request) int {
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r.WithContext(context.Background()))
		return w.Code
	}
	if got := serve(signed(model.Secret{1}, now)); got != http.StatusOK {
		t.Fatalf("what a peer has signed is answered %d", got)
	}
	for name, change := range map[string]func(*http.Request) *http.Request{
		"no proof":       func(r *http.Request) *http.Request { r.Header.Del(auth.HeaderProof); return r },
		"another secret": func(*http.Request) *http.Request { return signed(model.Secret{2}, now) },
		"of long ago":    func(*http.Request) *http.Request { return signed(model.Secret{1}, now.Add(-2*time.Minute)) },
		"of the future":  func(*http.Request) *http.Request { return signed(model.Secret{1}, now.Add(2*time.Minute)) },
		"another method": func(r *http.Request) *http.Request { r.Method = http.MethodPut; return r },
		"another query":  func(r *http.Request) *http.Request { r.URL.RawQuery = "dry_run=true"; return r },
		"another peer":   func(r *http.Request) *http.Request { r.Header.Set(wire.HeaderForwarded, "p3"); return r },
		"another client": func(r *http.Request) *http.Request { r.Header.Set(wire.HeaderClient, "192.0.2.9"); return r },
		"another key":    func(r *http.Request) *http.Request { r.Header.Set(wire.HeaderRequestID, "l"); return r },
		"no key":         func(r *http.Request) *http.Request { r.Header.Del(wire.HeaderRequestID); return r },
		"another caller": swap(auth.HashOf(ann).String(), auth.HashOf(adam).String()),
		"half a proof": func(r *http.Request) *http.Request {
			r.Header.Set(auth.HeaderProof, r.Header.Get(auth.HeaderProof)[:99])
			return r
		},
		"another version": swap("v1 ", "v2 "),
		"another body":    withBody(strings.NewReader(strings.Replace(signedBody, "true", "evil", 1))),
		"no body":         withBody(nil),
	} {
		t.Run(name, func(t *testing.T) {
			before := s.State().Index
			got := serve(change(signed(model.Secret{1}, now)))
			if got != http.StatusUnauthorized && got != http.StatusBadRequest || s.State().Index != before {
				t.Errorf("answered %d", got)
			}
		})
	}
	// Sent again as it was it is the same request under the same key.
	before := s.State().Jobs.Len()
	if got := serve(signed(model.Secret{1}, now)); got != http.StatusOK || s.State().Jobs.Len() != before {
		t.Errorf("answered %d, %d jobs more", got, s.State().Jobs.Len()-before)
	}
}

func swap(from, to string) func(*http.Request) *http.Request {
	return func(r *http.Request) *http.Request {
		r.Header.Set(auth.HeaderProof, strings.Replace(r.Header.Get(auth.HeaderProof), from, to, 1))
		return r
	}
}

// A revocation that the follower has not heard of takes effect where the change is made.
func TestTheLeaderLooksAgain(t *testing.T) {
	s := newGuarded(t)
	s.with(func(c *statetest.Cluster) { c.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" }) })
	rule := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was carried out") })
	h := s.api.Gate.Confirm(http.MethodPost, "/queue/submit", rule)
	r := httptest.NewRequest(http.MethodPost, "/queue/submit", nil)
	r = r.WithContext(auth.With(r.Context(), &auth.Caller{Kind: auth.User, Name: "ann", Role: model.RoleUser, Credential: auth.HashOf(ann)}))
	s.with(func(c *statetest.Cluster) { c.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(ann)}}) })
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}
