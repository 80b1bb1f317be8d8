package core_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const (
	leaver = "berth_admin_lea" // of the user lea, whose authority ends
	key    = "a-key-of-a-service-that-leaves"
)

// newLeft returns a guarded site where lea has a token of a role, a job with output that
// does not end, and tokens of an agent.
func newLeft(t *testing.T, role model.Role) *apitest.Site {
	t.Helper()
	s := apitest.NewGuarded(t)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(node.Close)
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.MakeToken{Hash: auth.HashOf(leaver), User: "lea", Role: role})
		c.Submit(1, func(b *command.Submit) { b.Spec.User = "lea" })
		c.Node("n1", 1).Register(func(r *command.Register) { r.Address = node.Listener.Addr().String() })
		c.Start(c.Place(1))
		c.Do(&command.SetWebhook{Webhook: outbox.Webhook{
			ID: "wh_1", Scope: model.ScopeKey{Kind: model.ScopeUser, Name: "lea"}, URL: "https://hooks.example/x", Events: model.AllNotices(),
			Secret: "whsec_" + strings.Repeat("A", 32),
		}})
	})
	return s
}

// waitingRoutes lists the requests that wait or stream, as the API describes itself: what takes a time to wait, what follows, what takes
// "once" to end at once, and the agents' poll, which is not described.
func waitingRoutes(s *apitest.Site) (paths []string) {
	all, _ := apitest.Operations(s)
	for i := range all {
		o, path := &all[i], apitest.Filled(all[i].Path)
		switch {
		case o.Method != http.MethodGet:
		case o.Takes("wait"):
			paths = append(paths, path+"?wait=1m&index=999999999")
		case o.Takes("follow"):
			paths = append(paths, path+"?follow=true")
		case o.Takes("once"):
			paths = append(paths, path, path+"?types=changed")
		}
	}
	return append(paths, agentwire.PathDesired)
}

// Every request that waits or streams ends when its token is revoked.
func TestEveryWaitingRouteEndsWithItsToken(t *testing.T) {
	t.Parallel()
	s := newLeft(t, model.RoleAdmin)
	paths := waitingRoutes(s)
	if len(paths) < 25 {
		t.Fatalf("only %d routes wait: %q", len(paths), paths)
	}
	var answers []<-chan *apitest.Reply
	for _, path := range paths {
		token := leaver
		if path == agentwire.PathDesired {
			token = apitest.AgentOf1
		}
		answers = append(answers, s.Open(path, token))
	}
	for s.API.Held() < len(paths) {
		for i, answer := range answers {
			select {
			case got := <-answer:
				t.Fatalf("%s does not wait: %d %.200s", paths[i], got.Status, got.Body)
			case <-time.After(time.Millisecond):
			}
		}
	}
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(leaver), auth.HashOf(apitest.AgentOf1)}})
	})
	for i, path := range paths {
		(<-answers[i]).Closed(path, wire.CodeUnauthenticated)
	}
}

// Whatever ends a caller's authority ends what the caller still reads, and nothing else.
func TestSessionsEndWithTheirAuthority(t *testing.T) {
	t.Parallel()
	streams := []string{"/events", "/jobs/1/logs?follow=true", "/queue?wait=1m&index=999999999", "/events?types=changed"}
	for name, c := range map[string]struct {
		role  model.Role
		token string
		code  string
		goes  []string // the requests that go on
		end   func(*apitest.Site)
	}{
		"the user is removed": {model.RoleUser, leaver, wire.CodeUnauthenticated, nil, func(s *apitest.Site) {
			s.With(func(c *statetest.Cluster) { c.Do(&command.RemoveUser{User: "lea"}) })
		}},
		"the role is lowered": {model.RoleUser, leaver, "denied", []string{streams[0], streams[2], streams[3]}, func(s *apitest.Site) {
			s.With(func(c *statetest.Cluster) { c.Do(&command.SetUser{User: "lea", Role: model.RoleViewer}) })
		}},
		"the token expires": {model.RoleUser, leaver, wire.CodeUnauthenticated, nil, func(s *apitest.Site) {
			s.With(func(c *statetest.Cluster) { c.Now = c.Now.Add(time.Hour); c.Do(&command.AdvanceClock{}) })
			s.API.ReviewNow() // as after reviewEvery
		}},
		"a key is taken out": {model.RoleUser, key, wire.CodeUnauthenticated, nil, func(s *apitest.Site) { s.API.TakeOver(core.Terms{}) }},
		"another's token":    {model.RoleUser, leaver, "", streams, func(s *apitest.Site) { s.Do(http.MethodDelete, "/users/bob", "", apitest.As(apitest.Adam)...) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLeft(t, c.role)
			s.With(func(k *statetest.Cluster) {
				k.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(leaver)}})
				k.Do(&command.MakeToken{Hash: auth.HashOf(leaver), User: "lea", Expires: k.Now.Add(time.Hour)})
			})
			var keys auth.Keys
			if err := keys.Add(key, auth.Key{Name: "lea", Role: model.RoleUser}); err != nil {
				t.Fatal(err)
			}
			s.API.TakeOver(core.Terms{Keys: keys})
			answers := map[string]<-chan *apitest.Reply{}
			for _, path := range streams {
				answers[path] = s.Open(path, c.token)
			}
			s.Settled(len(streams))
			c.end(s)
			for path, answer := range answers {
				if !slices.Contains(c.goes, path) {
					(<-answer).Closed(path, c.code)
				}
			}
			for _, path := range c.goes {
				select {
				case got := <-answers[path]:
					t.Errorf("%s ended: %s", path, got.Body)
				default:
				}
			}
		})
	}
}

// A token's end by the clock ends what it reads, without any change of the state.
func TestASessionEndsAtItsTokensEnd(t *testing.T) {
	t.Parallel()
	s := newLeft(t, model.RoleUser)
	began, base := time.Now(), s.Now()
	s.API.Gate().Clock = func() time.Time { return base.Add(time.Since(began)) }
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(leaver)}})
		c.Do(&command.MakeToken{Hash: auth.HashOf(leaver), User: "lea", Expires: model.TimeOf(base).Add(time.Second)})
	})
	(<-s.Open("/events", leaver)).Closed("/events", wire.CodeUnauthenticated)
}

// Requests that began before the cluster required authentication end when it does.
func TestSessionsEndWhereAuthenticationBegins(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	events := s.Async("/events")
	s.Settled(1)
	s.With(apitest.Guard)
	(<-events).Closed("/events", wire.CodeUnauthenticated)
}

// A client that takes trailers is given the reason there, and no line among the output.
func TestALogEndsWithATrailer(t *testing.T) {
	t.Parallel()
	s := newLeft(t, model.RoleUser)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/jobs/1/logs?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+leaver)
	r.Header.Set("Te", "deflate, trailers")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	s.Settled(1)
	s.With(func(c *statetest.Cluster) { c.Do(&command.RemoveUser{User: "lea"}) })
	body, err := io.ReadAll(got.Body)
	var p wire.Problem
	if err != nil || string(body) != "first\n" || json.Unmarshal([]byte(got.Trailer.Get(wire.TrailerProblem)), &p) != nil ||
		p.Status != http.StatusUnauthorized {
		t.Errorf("read %q, %v, trailers %v", body, err, got.Trailer)
	}
}

// Requests that are over are reviewed no more, and the goroutine ends with the last.
func TestSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newLeft(t, model.RoleUser)
	for range 2 {
		events := s.Open("/events", leaver)
		s.Settled(1)
		s.Do(http.MethodDelete, "/users/lea", "", apitest.As(apitest.Adam)...).Into(new(wire.Gone))
		<-events
		s.With(func(c *statetest.Cluster) {
			c.Do(&command.MakeToken{Hash: auth.HashOf(leaver), User: "lea", Role: model.RoleUser})
		})
		for s.API.Held() > 0 || s.API.Reviews() {
			select {
			case <-t.Context().Done():
				t.Fatal("sessions are left")
			case <-time.After(time.Millisecond):
			}
		}
	}
}
