package httpapi

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
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Rates apply with authentication only.
func TestWhoeverIsNotAskedIsNotCounted(t *testing.T) {
	s := newSite(t)
	s.api.Gate.Addresses = auth.NewLimiter(1, func() time.Time { return time.Unix(1, 0) })
	for range 3 {
		s.do(http.MethodGet, "/queue", "").into(new(wire.Queue))
	}
}

// A refusal before the handler, or because a job is another user's, is kept, once, with
// its caller, under which id, and where it came from: of what a peer has passed on, where
// that peer had it from.
func TestRefusalsOfCallersAreKept(t *testing.T) {
	peer := newOne(t)
	guard(peer.cluster)
	peer.cluster.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" })
	kept, port := &refusals{}, newWired(t, "p1")
	api := New(core.Config{Self: "p1", Now: peer.now, Own: []string{"example.com:80"}, Peer: core.Peer{Proposer: peer, Reader: peer, Members: peer, Refusals: kept, Answers: port.answers}})
	ask := func(r *http.Request) {
		r.RemoteAddr = "192.0.2.7:4000"
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		id := cmp.Or(w.Header().Get(wire.HeaderRequestID), r.Header.Get(wire.HeaderRequestID))
		if last := kept.list[len(kept.list)-1]; id == "" || last.Request != id {
			t.Errorf("%s %s is kept as %+v", r.Method, r.URL, last)
		}
	}
	other := httptest.NewRequest(http.MethodDelete, "/queue/1", nil)
	other.Header.Set("X-Auth-Token", bob)
	ask(other)
	q := &forward.Request{Method: http.MethodPost, Target: "/orchestrator/stop", Client: "203.0.113.9", Header: http.Header{"X-Auth-Token": {bob}}}
	if got, err := pass(t, &site{one: peer, wired: port}, q); err != nil || got.Status != http.StatusForbidden {
		t.Errorf("what is passed on is answered %+v, %v", got, err)
	}
	stranger := httptest.NewRequest(http.MethodGet, "/audit", nil)
	stranger.Header.Set(wire.HeaderRequestID, "mine")
	ask(stranger)
	large := httptest.NewRequest(http.MethodPost, "/queue/submit", strings.NewReader(strings.Repeat(" ", core.MaxBody+1)))
	large.Header.Set("X-Auth-Token", bob)
	ask(large)
	var got []string
	for _, r := range kept.list {
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

// behind is a peer whose state is old until a newer one is asked for.
type behind struct {
	*one
	old state.State
}

func (b *behind) State() state.State { return b.old }

// Whose an allocation is counts also where this peer has not heard of it yet.
func TestAnAllocationOfAnotherThatIsNotKnownYet(t *testing.T) {
	s := newGuarded(t)
	old := s.State()
	var got wire.Allocated
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name":"web"}`, as(ann)...).into(&got)
	s.api.Peer.Reader = &behind{s.one, old}
	body := `{"allocation_id":"` + got.AllocationID + `"}`
	s.do(http.MethodPost, "/gpu/release", body, as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, "/gpu/allocations/"+got.AllocationID+"/renew", "", as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, "/gpu/release", `{"allocation_id":"web-9"}`, as(bob)...).problem(http.StatusNotFound, wire.CodeNotFound)
	s.api.Peer.Reader = s.one
	s.do(http.MethodPost, "/gpu/release", body, as(ann)...).into(new(wire.Allocated))
}

// bounded is a peer that notes whether its readers wait for ever.
type bounded struct {
	*one
	is bool
}

func (b *bounded) Read(ctx context.Context, c peer.Consistency) (state.State, error) {
	_, b.is = ctx.Deadline()
	return b.one.Read(ctx, c)
}

// No request waits for ever for a job that may not exist.
func TestWhoseAnUnknownJobIs(t *testing.T) {
	s := newGuarded(t)
	reader := &bounded{one: s.one}
	s.api.Gate.Peer = reader
	s.do(http.MethodGet, "/jobs/99/logs", "", as(ann)...).problem(http.StatusNotFound, wire.CodeNotFound)
	if !reader.is {
		t.Error("it was looked for without a limit")
	}
}

// asking notes how new the states were to be that were read.
type asking struct {
	*one
	levels []peer.Consistency
}

func (a *asking) Read(ctx context.Context, c peer.Consistency) (state.State, error) {
	a.levels = append(a.levels, c)
	return a.one.Read(ctx, c)
}

// A token that is not known is refused only by a peer that could know it: one that has
// restarted looks in the newest state, once, and reports it if that is not possible.
func TestATokenThatCannotBeLookedFor(t *testing.T) {
	const stranger = "berth_of_somebody"
	s := newGuarded(t)
	reader := &asking{one: s.one}
	s.api.Gate.Peer = reader
	s.behind = &problem.Fault{Code: wire.CodeNoLeader, Err: errors.New("there is no leader")}
	s.do(http.MethodGet, "/queue", "", as(stranger)...).problem(http.StatusServiceUnavailable, wire.CodeNoLeader)
	s.do(http.MethodGet, "/healthz", "", as(stranger)...).into(new(wire.Health))
	s.behind = nil
	for range 2 {
		s.do(http.MethodGet, "/queue", "", as(stranger)...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	}
	if want := []peer.Consistency{peer.Linearizable, peer.Linearizable, peer.Default}; !slices.Equal(reader.levels, want) {
		t.Errorf("read were states of levels %v, want %v", reader.levels, want)
	}
	s.api.Gate.Must = true
	s.with(func(c *statetest.Cluster) { *c = *statetest.Empty(t) })
	s.do(http.MethodGet, "/queue", "", as(ann)...).problem(http.StatusServiceUnavailable, wire.CodeNoLeader)
}

// The same of one that another peer has vouched for.
func TestAVouchedTokenThatCannotBeLookedFor(t *testing.T) {
	s := newGuarded(t)
	f := newFollower(t, s, auth.Keys{})
	f.api.Gate.Peer = &behind{s.one, s.State()}
	s.with(func(c *statetest.Cluster) { c.Do(&command.RemoveUser{User: "bob"}) })
	f.do(http.MethodDelete, "/queue/1", "", as(bob)...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.behind = &problem.Fault{Code: wire.CodeBehind, Err: errors.New("far behind")}
	f.do(http.MethodDelete, "/queue/1", "", as(bob)...).problem(http.StatusServiceUnavailable, wire.CodeBehind)
}
