package httpapi

import (
	"bytes"
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
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
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
func newLeft(t *testing.T, role model.Role) *site {
	t.Helper()
	s := newGuarded(t)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(node.Close)
	s.with(func(c *statetest.Cluster) {
		c.Do(&command.MakeToken{Hash: auth.HashOf(leaver), User: "lea", Role: role})
		c.Submit(1, func(b *command.Submit) { b.Spec.User = "lea" })
		c.Node("n1", 1).Register(func(r *command.Register) { r.Address = node.Listener.Addr().String() })
		c.Start(c.Place(1))
		c.Do(&command.SetWebhook{Webhook: model.Webhook{
			ID: "wh_1", Scope: model.ScopeKey{Kind: model.ScopeUser, Name: "lea"}, URL: "https://hooks.example/x", Events: model.AllNotices(),
			Secret: "whsec_" + strings.Repeat("A", 32),
		}})
	})
	return s
}

// waitingRoutes lists the requests that wait or stream, as the API describes itself: what
// takes a time to wait, what follows, and the agents' poll, which is not described.
func waitingRoutes(t *testing.T, s *site) (paths []string) {
	t.Helper()
	var doc struct {
		Paths map[string]struct {
			Get *struct{ Parameters []struct{ Name string } }
		}
	}
	if err := json.Unmarshal(s.do(http.MethodGet, "/openapi.json", "", as(adam)...).body, &doc); err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths {
		if item.Get == nil {
			continue
		}
		takes := func(name string) bool {
			return slices.ContainsFunc(item.Get.Parameters, func(p struct{ Name string }) bool { return p.Name == name })
		}
		switch path = strings.TrimSuffix(filled(path), "?once=true"); {
		case takes("wait"):
			paths = append(paths, path+"?wait=1m&index=999999999")
		case takes("follow"):
			paths = append(paths, path+"?follow=true")
		case path == "/events":
			paths = append(paths, path, path+"?types=changed")
		}
	}
	slices.Sort(paths)
	return append(paths, agentwire.PathDesired)
}

// open sends a request that waits, in the background. One that goes on until the test's
// end gets no reply.
func (s *site) open(path, token string) <-chan *reply { return s.openWith(path, as(token)...) }

// openWith is open with headers in pairs.
func (s *site) openWith(path string, headers ...string) <-chan *reply {
	method, body := http.MethodGet, ""
	if path == agentwire.PathDesired {
		data, err := agentwire.Encode(&agentwire.Poll{Node: "n1", After: 1 << 40, Wait: time.Minute})
		if err != nil {
			s.t.Fatal(err)
		}
		method, body = http.MethodPost, string(data)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	ch := make(chan *reply, 1)
	go func() {
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			return
		}
		defer func() { _ = got.Body.Close() }()
		if data, err := io.ReadAll(got.Body); err == nil {
			ch <- &reply{s.t, got.StatusCode, got.Header, data}
		}
	}()
	return ch
}

// settled waits until so many sessions are reviewed.
func (s *site) settled(n int) {
	s.t.Helper()
	for s.api.Held.Count() < n {
		select {
		case <-s.t.Context().Done():
			s.t.Fatal("the requests do not wait")
		case <-time.After(time.Millisecond):
		}
	}
}

// closed fails unless an answer ends with the reason that it must end for: as a problem
// where nothing of it had been sent, else at the end of the stream.
func (r *reply) closed(path, code string) {
	r.t.Helper()
	last, found := r.body, true
	switch {
	case strings.HasPrefix(path, "/events"):
		if _, last, found = bytes.Cut(r.body, []byte("event: "+wire.EventClosed+"\ndata: ")); r.status != http.StatusOK {
			found = false
		}
	case strings.Contains(path, "follow"):
		if !bytes.HasPrefix(r.body, []byte("first\n\nberth: the output ends here: ")) || r.status != http.StatusOK {
			r.t.Errorf("%s: %d %q", path, r.status, r.body)
		}
		return
	}
	var p wire.Problem
	if err := json.Unmarshal(last, &p); !found || err != nil || p.Code != code || p.Status == http.StatusOK {
		r.t.Errorf("%s: %d %q does not end with %s", path, r.status, r.body, code)
	}
}

// Every request that waits or streams ends when its token is revoked.
func TestEveryWaitingRouteEndsWithItsToken(t *testing.T) {
	t.Parallel()
	s := newLeft(t, model.RoleAdmin)
	paths := waitingRoutes(t, s)
	if len(paths) < 25 {
		t.Fatalf("only %d routes wait: %q", len(paths), paths)
	}
	var answers []<-chan *reply
	for _, path := range paths {
		token := leaver
		if path == agentwire.PathDesired {
			token = agentOf1
		}
		answers = append(answers, s.open(path, token))
	}
	for s.api.Held.Count() < len(paths) {
		for i, answer := range answers {
			select {
			case got := <-answer:
				t.Fatalf("%s does not wait: %d %.200s", paths[i], got.status, got.body)
			case <-time.After(time.Millisecond):
			}
		}
	}
	s.with(func(c *statetest.Cluster) {
		c.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(leaver), auth.HashOf(agentOf1)}})
	})
	for i, path := range paths {
		(<-answers[i]).closed(path, wire.CodeUnauthenticated)
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
		end   func(*site)
	}{
		"the user is removed": {model.RoleUser, leaver, wire.CodeUnauthenticated, nil, func(s *site) {
			s.with(func(c *statetest.Cluster) { c.Do(&command.RemoveUser{User: "lea"}) })
		}},
		"the role is lowered": {model.RoleUser, leaver, "denied", []string{streams[0], streams[2], streams[3]}, func(s *site) {
			s.with(func(c *statetest.Cluster) { c.Do(&command.SetUser{User: "lea", Role: model.RoleViewer}) })
		}},
		"the token expires": {model.RoleUser, leaver, wire.CodeUnauthenticated, nil, func(s *site) {
			s.with(func(c *statetest.Cluster) { c.Now = c.Now.Add(time.Hour); c.Do(&command.AdvanceClock{}) })
			s.api.Held.ReviewNow() // as after reviewEvery
		}},
		"a key is taken out": {model.RoleUser, key, wire.CodeUnauthenticated, nil, func(s *site) { s.api.TakeOver(core.Terms{}) }},
		"another's token":    {model.RoleUser, leaver, "", streams, func(s *site) { s.do(http.MethodDelete, "/users/bob", "", as(adam)...) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLeft(t, c.role)
			s.with(func(k *statetest.Cluster) {
				k.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(leaver)}})
				k.Do(&command.MakeToken{Hash: auth.HashOf(leaver), User: "lea", Expires: k.Now.Add(time.Hour)})
			})
			var keys auth.Keys
			if err := keys.Add(key, auth.Key{Name: "lea", Role: model.RoleUser}); err != nil {
				t.Fatal(err)
			}
			s.api.TakeOver(core.Terms{Keys: keys})
			answers := map[string]<-chan *reply{}
			for _, path := range streams {
				answers[path] = s.open(path, c.token)
			}
			s.settled(len(streams))
			c.end(s)
			for path, answer := range answers {
				if !slices.Contains(c.goes, path) {
					(<-answer).closed(path, c.code)
				}
			}
			for _, path := range c.goes {
				select {
				case got := <-answers[path]:
					t.Errorf("%s ended: %s", path, got.body)
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
	began, base := time.Now(), s.now()
	s.api.Gate.Clock = func() time.Time { return base.Add(time.Since(began)) }
	s.with(func(c *statetest.Cluster) {
		c.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(leaver)}})
		c.Do(&command.MakeToken{Hash: auth.HashOf(leaver), User: "lea", Expires: model.TimeOf(base).Add(time.Second)})
	})
	(<-s.open("/events", leaver)).closed("/events", wire.CodeUnauthenticated)
}

// Requests that began before the cluster required authentication end when it does.
func TestSessionsEndWhereAuthenticationBegins(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	events := s.async("/events")
	s.settled(1)
	s.with(guard)
	(<-events).closed("/events", wire.CodeUnauthenticated)
}

// A client that takes trailers is given the reason there, and no line among the output.
func TestALogEndsWithATrailer(t *testing.T) {
	t.Parallel()
	s := newLeft(t, model.RoleUser)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/jobs/1/logs?follow=true", nil)
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
	s.settled(1)
	s.with(func(c *statetest.Cluster) { c.Do(&command.RemoveUser{User: "lea"}) })
	body, err := io.ReadAll(got.Body)
	var p wire.Problem
	if err != nil || string(body) != "first\n" || json.Unmarshal([]byte(got.Trailer.Get(wire.TrailerProblem)), &p) != nil || p.Status != http.StatusUnauthorized {
		t.Errorf("read %q, %v, trailers %v", body, err, got.Trailer)
	}
}

// Requests that are over are reviewed no more, and the goroutine ends with the last.
func TestSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newLeft(t, model.RoleUser)
	for range 2 {
		events := s.open("/events", leaver)
		s.settled(1)
		s.do(http.MethodDelete, "/users/lea", "", as(adam)...).into(new(wire.Gone))
		<-events
		s.with(func(c *statetest.Cluster) {
			c.Do(&command.MakeToken{Hash: auth.HashOf(leaver), User: "lea", Role: model.RoleUser})
		})
		for s.api.Held.Count() > 0 || s.api.Held.Reviews() {
			select {
			case <-t.Context().Done():
				t.Fatal("sessions are left")
			case <-time.After(time.Millisecond):
			}
		}
	}
}
