package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// What a follower passes on is carried out in its caller's name, and the leader looks
// again at the caller.
func TestPassedOn(t *testing.T) {
	s := apitest.NewGuarded(t)
	var keys auth.Keys
	if err := keys.Add(apitest.ServiceKey, auth.Key{Name: "training", Role: model.RoleUser}); err != nil {
		t.Fatal(err)
	}
	f := apitest.NewFollower(t, s, keys)
	var job wire.Submitted
	f.Do(http.MethodPost, "/queue/submit", `{"command":"true"}`, apitest.As(apitest.Ann)...).Into(&job)
	f.Do(http.MethodDelete, "/queue/1", "", apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	f.Do(http.MethodPost, "/orchestrator/stop", "", apitest.As(apitest.Ann)...).Problem(http.StatusForbidden, "denied")
	f.Do(http.MethodPost, "/orchestrator/stop", "").Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	f.Do(http.MethodDelete, "/queue/1?note=a%20b", "", apitest.As(apitest.Ann)...).Into(new(wire.Done))
	var detail wire.Detail
	f.Do(http.MethodGet, "/jobs/1", "", apitest.As(apitest.Ann)...).Into(&detail)
	if last := detail.Timeline[len(detail.Timeline)-1]; last.Actor != "user:ann" || last.Detail != "a b" {
		t.Errorf("the last line is %+v", last)
	}
	// A key that the leader does not have is not known to it.
	f.Do(http.MethodPost, "/queue/submit", `{"command":"true"}`, apitest.As(apitest.ServiceKey)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.API.TakeOver(core.Terms{Keys: keys})
	f.Do(http.MethodPost, "/queue/submit", `{"command":"true"}`, apitest.As(apitest.ServiceKey)...).Into(&job)
	if job.Job.User != "training" {
		t.Errorf("the job is of %q", job.Job.User)
	}
}

// A request that is passed on needs the credential of its caller like any other: the claim to be a peer is not
// enough to make one in the name of a user.
func TestAPeersClaimIsNoCredential(t *testing.T) {
	s := apitest.NewGuarded(t)
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"a token":      {http.Header{"Authorization": {"Bearer " + apitest.Ann}}, http.StatusOK},
		"none":         {http.Header{}, http.StatusUnauthorized},
		"its hash":     {http.Header{"Authorization": {"Bearer " + auth.HashOf(apitest.Ann).String()}}, http.StatusUnauthorized},
		"two of them":  {http.Header{"Authorization": {"Bearer " + apitest.Ann}, "X-Api-Key": {apitest.Adam}}, http.StatusBadRequest},
		"a viewer's":   {http.Header{"Authorization": {"Bearer " + apitest.Viewer}}, http.StatusForbidden},
		"of an agent":  {http.Header{"Authorization": {"Bearer " + apitest.AgentOf2}}, http.StatusForbidden},
		"unknown":      {http.Header{"Authorization": {"Bearer berth_of_nobody"}}, http.StatusUnauthorized},
		"the old ways": {http.Header{"X-Berth-Forwarded": {"p2"}, "X-Berth-Proof": {"v1 0 0 0 0"}}, http.StatusUnauthorized},
	} {
		got, err := apitest.Pass(t, s.Wired.Address, &forward.Request{
			Method: http.MethodPost, Target: "/queue/submit", Header: c.header, Body: []byte(`{"command":"true"}`), Client: "203.0.113.9",
		})
		if err != nil || got.Status != c.status {
			t.Errorf("%s: %+v, %v, want %d", name, got, err, c.status)
		}
	}
	if n := s.State().Jobs.Len(); n != 1 {
		t.Errorf("%d jobs", n)
	}
	got, err := apitest.Pass(t, s.Wired.Address, &forward.Request{Method: http.MethodGet, Target: "/events", Header: http.Header{"Authorization": {"Bearer " + apitest.Adam}}})
	if err != nil || got.Status != http.StatusMethodNotAllowed {
		t.Errorf("a read that is passed on: %+v, %v", got, err)
	}
}

// A peer whose API has not all its paths yet answers no request that is passed on, and no other call of the
// API: its "no such path" would pass for the answer of a leader that has just started.
func TestNothingIsPassedOnToAnUnfinishedAPI(t *testing.T) {
	t.Parallel()
	one, port := apitest.NewPeer(t), apitest.NewWire(t, "p1")
	api := core.New(core.Config{
		Self: "p1", Now: one.Now, Own: []string{"example.com:80"},
		Peer: apitest.Parts(t, one, port),
	})
	submission := &forward.Request{Method: http.MethodPost, Target: "/queue/submit", Header: http.Header{}, Body: []byte(`{"command":"true"}`)}
	samples := call.Define[struct{}, agentwire.Samples](call.Bulk, "samples")
	ask := func() error {
		_, err := call.Do(t.Context(), port.Calls, peer.Server{ID: "p1", Address: port.Address}, samples, &struct{}{})
		return err
	}
	unready := func(when string) {
		if got, err := apitest.Pass(t, port.Address, submission); call.KindOf(err) != call.KindUnknown || !call.Undone(err) {
			t.Errorf("%s: answered %+v, %v", when, got, err)
		}
		if err := ask(); call.KindOf(err) != call.KindUnknown {
			t.Errorf("%s: samples are answered: %v", when, err)
		}
	}
	unready("without a path")
	complete := httpapi.Route(api)
	unready("with the paths of all operations")
	complete()
	if got, err := apitest.Pass(t, port.Address, submission); err != nil || got.Status != http.StatusOK {
		t.Errorf("a complete API answers %+v, %v", got, err)
	}
	if err := ask(); err != nil {
		t.Errorf("a complete API answers samples with %v", err)
	}
	if err := api.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := apitest.Pass(t, port.Address, submission); err != nil || got.Status != http.StatusServiceUnavailable ||
		http.Header(got.Header).Get(wire.HeaderCode) != wire.CodeNoLeader {
		t.Errorf("an API that has ended answers %+v, %v", got, err)
	}
}

// A revocation that the follower has not heard of takes effect where the change is made.
func TestTheLeaderLooksAgain(t *testing.T) {
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) { c.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" }) })
	rule := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was carried out") })
	h := s.API.Confirm(http.MethodPost, "/queue/submit", rule)
	r := httptest.NewRequest(http.MethodPost, "/queue/submit", nil)
	r = r.WithContext(auth.With(r.Context(),
		&auth.Caller{Kind: auth.User, Name: "ann", Role: model.RoleUser, Credential: auth.HashOf(apitest.Ann)}))
	s.With(func(c *statetest.Cluster) { c.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(apitest.Ann)}}) })
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}
