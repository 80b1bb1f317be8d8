package core_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Rates apply with authentication only.
func TestWhoeverIsNotAskedIsNotCounted(t *testing.T) {
	s := apitest.New(t)
	s.API.Gate().Addresses = auth.NewLimiter(1, func() time.Time { return time.Unix(1, 0) })
	for range 3 {
		s.Do(http.MethodGet, "/queue", "").Into(new(wire.Queue))
	}
}

// A refusal before the handler, or because a job is another user's, is kept, once, with
// its caller, under which id, and where it came from: of what a peer has passed on, where
// that peer had it from.
func TestRefusalsOfCallersAreKept(t *testing.T) {
	peer := apitest.NewPeer(t)
	apitest.Guard(peer.Cluster)
	peer.Cluster.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" })
	kept, port := &apitest.Refusals{}, apitest.NewWire(t, "p1")
	parts := apitest.Parts(t, peer, port)
	parts.Refusals = kept
	api := apitest.NewAPI(core.Config{Self: "p1", Now: peer.Now, Own: []string{"example.com:80"}, Peer: parts})
	ask := func(r *http.Request) {
		r.RemoteAddr = "192.0.2.7:4000"
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		id := cmp.Or(w.Header().Get(wire.HeaderRequestID), r.Header.Get(wire.HeaderRequestID))
		if last := kept.List[len(kept.List)-1]; id == "" || last.Request != id {
			t.Errorf("%s %s is kept as %+v", r.Method, r.URL, last)
		}
	}
	other := httptest.NewRequest(http.MethodDelete, "/queue/1", nil)
	other.Header.Set("X-Auth-Token", apitest.Bob)
	ask(other)
	q := &forward.Request{Method: http.MethodPost, Target: "/orchestrator/stop", Client: "203.0.113.9", Header: http.Header{"X-Auth-Token": {apitest.Bob}}}
	if got, err := apitest.Pass(t, port.Address, q); err != nil || got.Status != http.StatusForbidden {
		t.Errorf("what is passed on is answered %+v, %v", got, err)
	}
	stranger := httptest.NewRequest(http.MethodGet, "/audit", nil)
	stranger.Header.Set(wire.HeaderRequestID, "mine")
	ask(stranger)
	large := httptest.NewRequest(http.MethodPost, "/queue/submit", strings.NewReader(strings.Repeat(" ", core.MaxBody+1)))
	large.Header.Set("X-Auth-Token", apitest.Bob)
	ask(large)
	var got []string
	for _, r := range kept.List {
		got = append(got, r.From+" "+r.Actor+" "+r.Method+" "+r.Path+" "+r.Code)
	}
	want := []string{
		"192.0.2.7 user:bob DELETE /queue/1 denied", "203.0.113.9 user:bob POST /orchestrator/stop denied",
		"192.0.2.7 user:anonymous GET /audit unauthenticated",
		"192.0.2.7 user:bob POST /queue/submit too_large",
	}
	if !slices.Equal(got, want) {
		t.Errorf("kept are %q, want %q", got, want)
	}
}

// Whose an allocation is counts also where this peer has not heard of it yet.
func TestAnAllocationOfAnotherThatIsNotKnownYet(t *testing.T) {
	s := apitest.NewGuarded(t)
	old := s.State()
	var got wire.Allocated
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name":"web"}`, apitest.As(apitest.Ann)...).Into(&got)
	s.API.Peer.Reader = &apitest.Behind{Peer: s.Peer, Old: old}
	body := `{"allocation_id":"` + got.AllocationID + `"}`
	s.Do(http.MethodPost, "/gpu/release", body, apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, "/gpu/allocations/"+got.AllocationID+"/renew", "", apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, "/gpu/release", `{"allocation_id":"web-9"}`, apitest.As(apitest.Bob)...).Problem(http.StatusNotFound, wire.CodeNotFound)
	s.API.Peer.Reader = s.Peer
	s.Do(http.MethodPost, "/gpu/release", body, apitest.As(apitest.Ann)...).Into(new(wire.Allocated))
}

// bounded is a peer that notes whether its readers wait for ever.
type bounded struct {
	*apitest.Peer
	is bool
}

func (b *bounded) Read(ctx context.Context, c peer.Consistency) (state.State, error) {
	_, b.is = ctx.Deadline()
	return b.Peer.Read(ctx, c)
}

// No request waits for ever for a job that may not exist.
func TestWhoseAnUnknownJobIs(t *testing.T) {
	s := apitest.NewGuarded(t)
	reader := &bounded{Peer: s.Peer}
	s.API.Gate().Peer = reader
	s.Do(http.MethodGet, "/jobs/99/logs", "", apitest.As(apitest.Ann)...).Problem(http.StatusNotFound, wire.CodeNotFound)
	if !reader.is {
		t.Error("it was looked for without a limit")
	}
}

// asking notes how new the states were to be that were read.
type asking struct {
	*apitest.Peer
	levels []peer.Consistency
}

func (a *asking) Read(ctx context.Context, c peer.Consistency) (state.State, error) {
	a.levels = append(a.levels, c)
	return a.Peer.Read(ctx, c)
}

// A token that is not known is refused only by a peer that could know it: one that has
// restarted looks in the newest state, once, and reports it if that is not possible.
func TestATokenThatCannotBeLookedFor(t *testing.T) {
	const stranger = "berth_of_somebody"
	s := apitest.NewGuarded(t)
	reader := &asking{Peer: s.Peer}
	s.API.Gate().Peer = reader
	s.Behind = &problem.Fault{Code: wire.CodeNoLeader, Err: errors.New("there is no leader")}
	s.Do(http.MethodGet, "/queue", "", apitest.As(stranger)...).Problem(http.StatusServiceUnavailable, wire.CodeNoLeader)
	s.Do(http.MethodGet, "/healthz", "", apitest.As(stranger)...).Into(new(wire.Health))
	s.Behind = nil
	for range 2 {
		s.Do(http.MethodGet, "/queue", "", apitest.As(stranger)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	}
	if want := []peer.Consistency{peer.Linearizable, peer.Linearizable, peer.Default}; !slices.Equal(reader.levels, want) {
		t.Errorf("read were states of levels %v, want %v", reader.levels, want)
	}
	s.API.Gate().Must = true
	s.With(func(c *statetest.Cluster) { *c = *statetest.Empty(t) })
	s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Ann)...).Problem(http.StatusServiceUnavailable, wire.CodeNoLeader)
}

// The same of one that another peer has vouched for.
func TestAVouchedTokenThatCannotBeLookedFor(t *testing.T) {
	s := apitest.NewGuarded(t)
	f := apitest.NewFollower(t, s, auth.Keys{})
	f.API.Gate().Peer = &apitest.Behind{Peer: s.Peer, Old: s.State()}
	s.With(func(c *statetest.Cluster) { c.Do(&command.RemoveUser{User: "bob"}) })
	f.Do(http.MethodDelete, "/queue/1", "", apitest.As(apitest.Bob)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Behind = &problem.Fault{Code: wire.CodeBehind, Err: errors.New("far behind")}
	f.Do(http.MethodDelete, "/queue/1", "", apitest.As(apitest.Bob)...).Problem(http.StatusServiceUnavailable, wire.CodeBehind)
}
