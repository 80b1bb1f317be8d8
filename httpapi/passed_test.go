package httpapi

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
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
	peer := &follower{s.one, forward.Leader{ID: "p1", Address: s.wired.address}}
	tails, err := soft.OpenTails(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	port := newWired(t, "p2")
	api := New(core.Config{
		Self: "p2", Version: "test", Dial: (&net.Dialer{}).DialContext, Now: func() time.Time { return s.now() }, Terms: core.Terms{Keys: keys},
		Peer: core.Peer{
			Proposer: peer, Reader: peer, Members: peer, Tails: tails, Beats: peer, Answers: port.answers, Calls: port.calls,
			Telemetry: soft.NewBoard(func() time.Duration { return 0 }),
		},
	})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return &site{s.one, t, api, server.URL, port, nil, new(atomic.Int64)}
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

// pass makes the call by which a peer passes a request on.
func pass(t testing.TB, s *site, q *forward.Request) (*forward.Answer, error) {
	t.Helper()
	port := newWired(t, "p2")
	return forward.Over(port.calls)(t.Context(), peer.Server{ID: "p1", Address: s.wired.address}, q)
}

// A request that is passed on needs the credential of its caller like any other: the claim to be a peer is not
// enough to make one in the name of a user.
func TestAPeersClaimIsNoCredential(t *testing.T) {
	s := newGuarded(t)
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"a token":      {http.Header{"Authorization": {"Bearer " + ann}}, http.StatusOK},
		"none":         {http.Header{}, http.StatusUnauthorized},
		"its hash":     {http.Header{"Authorization": {"Bearer " + auth.HashOf(ann).String()}}, http.StatusUnauthorized},
		"two of them":  {http.Header{"Authorization": {"Bearer " + ann}, "X-Api-Key": {adam}}, http.StatusBadRequest},
		"a viewer's":   {http.Header{"Authorization": {"Bearer " + viewer}}, http.StatusForbidden},
		"of an agent":  {http.Header{"Authorization": {"Bearer " + agent}}, http.StatusForbidden},
		"unknown":      {http.Header{"Authorization": {"Bearer berth_of_nobody"}}, http.StatusUnauthorized},
		"the old ways": {http.Header{"X-Berth-Forwarded": {"p2"}, "X-Berth-Proof": {"v1 0 0 0 0"}}, http.StatusUnauthorized},
	} {
		got, err := pass(t, s, &forward.Request{
			Method: http.MethodPost, Target: "/queue/submit", Header: c.header, Body: []byte(`{"command":"true"}`), Client: "203.0.113.9",
		})
		if err != nil || got.Status != c.status {
			t.Errorf("%s: %+v, %v, want %d", name, got, err, c.status)
		}
	}
	if n := s.State().Jobs.Len(); n != 1 {
		t.Errorf("%d jobs", n)
	}
	got, err := pass(t, s, &forward.Request{Method: http.MethodGet, Target: "/events", Header: http.Header{"Authorization": {"Bearer " + adam}}})
	if err != nil || got.Status != http.StatusMethodNotAllowed {
		t.Errorf("a read that is passed on: %+v, %v", got, err)
	}
}

// A peer whose API has not all its paths yet answers no request that is passed on, and no other call of the
// API: its "no such path" would pass for the answer of a leader that has just started.
func TestNothingIsPassedOnToAnUnfinishedAPI(t *testing.T) {
	t.Parallel()
	one, port := newOne(t), newWired(t, "p1")
	api := core.New(core.Config{
		Self: "p1", Now: one.now, Own: []string{"example.com:80"},
		Peer: core.Peer{
			Proposer: one, Reader: one, Members: one, Answers: port.answers, Calls: port.calls,
			Telemetry: soft.NewBoard(func() time.Duration { return 0 }),
		},
	})
	s := &site{one, t, api, "", port, nil, new(atomic.Int64)}
	submission := &forward.Request{Method: http.MethodPost, Target: "/queue/submit", Header: http.Header{}, Body: []byte(`{"command":"true"}`)}
	samples := call.Define[struct{}, agentwire.Samples](call.Bulk, "samples")
	ask := func() error {
		_, err := call.Do(t.Context(), port.calls, peer.Server{ID: "p1", Address: port.address}, samples, &struct{}{})
		return err
	}
	unready := func(when string) {
		if got, err := pass(t, s, submission); call.KindOf(err) != call.KindUnknown || !call.Undone(err) {
			t.Errorf("%s: answered %+v, %v", when, got, err)
		}
		if err := ask(); call.KindOf(err) != call.KindUnknown {
			t.Errorf("%s: samples are answered: %v", when, err)
		}
	}
	unready("without a path")
	complete := route(api)
	unready("with the paths of all operations")
	complete()
	if got, err := pass(t, s, submission); err != nil || got.Status != http.StatusOK {
		t.Errorf("a complete API answers %+v, %v", got, err)
	}
	if err := ask(); err != nil {
		t.Errorf("a complete API answers samples with %v", err)
	}
	if err := api.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := pass(t, s, submission); err != nil || got.Status != http.StatusServiceUnavailable || http.Header(got.Header).Get(wire.HeaderCode) != wire.CodeNoLeader {
		t.Errorf("an API that has ended answers %+v, %v", got, err)
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
