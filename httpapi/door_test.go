package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentapi"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// asked is the answer to a request that asks for a host.
func (s *site) asked(host, method, path, body string, headers ...string) *reply {
	s.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	return &reply{s.t, w.Code, w.Header(), w.Body.Bytes()}
}

// A page of another site whose name was made to lead to this machine asks by that name,
// with an Origin that fits. Without authentication it would run jobs and read their output.
func TestRequestsForOtherHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	same := func(host string) []string {
		return []string{"Origin", "http://" + host, "Sec-Fetch-Site", "same-origin"}
	}
	for _, host := range []string{"evil.example:10000", "evil.example", "127.0.0.1.evil.example:10000", "10.0.0.7:10000", "0.0.0.0:10000", "[fd00::1]:10000"} {
		for _, rule := range auth.Rules() {
			s.asked(host, rule.Method, filled(rule.Path), "", same(host)...).problem(http.StatusMisdirectedRequest, wire.CodeMisdirected)
		}
		s.asked(host, http.MethodPost, "/queue/submit", `{"command":"id"}`, same(host)...).problem(http.StatusMisdirectedRequest, wire.CodeMisdirected)
		p := s.asked(host, http.MethodGet, "/nowhere", "", same(host)...).problem(http.StatusMisdirectedRequest, wire.CodeMisdirected)
		if !strings.Contains(p.Detail, host) || !strings.Contains(p.Detail, "server.hosts") {
			t.Errorf("it says %s", p.Detail)
		}
	}
	for _, host := range []string{"127.0.0.1:10000", "127.3.2.1", "[::1]:10000", "localhost:10000", "LocalHost", "example.com", ""} {
		if r := s.asked(host, http.MethodGet, "/queue", ""); r.status != http.StatusOK {
			t.Errorf("%q is answered %d %s", host, r.status, r.body)
		}
	}
	if s := s.State(); s.Jobs.Len() != 0 {
		t.Errorf("%d jobs were submitted", s.Jobs.Len())
	}
}

// With authentication a page has no token, so that addresses pass; names count where they are configured.
func TestHostsWithAuthentication(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	s.asked("berth.corp", http.MethodGet, "/queue", "", as(ann)...).problem(http.StatusMisdirectedRequest, wire.CodeMisdirected)
	named := New(core.Config{Self: "p1", Now: s.now, Peer: s.api.Peer, Own: []string{"10.0.0.1:10000"}, Hosts: []string{"berth.corp"}})
	s.api = named
	for host, want := range map[string]int{
		"berth.corp": 200, "BERTH.corp.:443": 200, "10.0.0.1:10000": 200, "10.0.0.9": 200, "localhost": 200, "evil.example": 421, "berth.corp.evil.example": 421,
	} {
		if r := s.asked(host, http.MethodGet, "/queue", "", as(ann)...); r.status != want {
			t.Errorf("%s is answered %d %s", host, r.status, r.body)
		}
	}
}

// A proxy in front of the API may have checked one of two credentials.
func TestTwoCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	for _, path := range []string{"/users", "/metrics"} {
		s.do(http.MethodGet, path, "", append(as(bob), "X-API-Key", adam)...).problem(http.StatusBadRequest, wire.CodeMalformed)
	}
	s.do(http.MethodGet, "/queue", "", append(as(bob), "X-API-Key", bob)...).into(&wire.Queue{})
}

// A request comes from where it comes from, whatever its headers say.
func TestClientsAddressesWithoutAuthentication(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kept := &refusals{}
	parts := s.api.Peer
	parts.Refusals = kept
	s.api = New(core.Config{Self: "p1", Now: s.now, Peer: parts})
	s.asked("localhost", http.MethodPost, "/queue/submit", `{"command":""}`, "X-Berth-Forwarded", "p2", "X-Berth-Client", "8.8.8.8").about("command")
	if len(kept.list) != 1 || kept.list[0].From != "192.0.2.1" { // as httptest has it
		t.Errorf("kept are %+v", kept.list)
	}
}

// Names of users and services are for callers that may read the queue.
func TestNamesInMetrics(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	s.with(func(c *statetest.Cluster) {
		c.Node("n1", 2)
		c.Submit(1, func(b *command.Submit) { b.Spec.User = "bob" })
		c.Do(&command.Allocate{ID: "secret-1", Service: "secret-service", User: "bob", Class: model.ClassNormal, Priority: 5, GPUs: 1})
	})
	for token, want := range map[string]bool{"": false, "berth_of_nobody": false, agentOf1: false, viewer: true, ann: true, adam: true} {
		var headers []string
		if token != "" {
			headers = as(token)
		}
		r := s.do(http.MethodGet, "/metrics", "", headers...)
		text := string(r.body)
		if r.status != http.StatusOK || strings.Contains(text, `user="bob"`) != want || strings.Contains(text, "secret-service") != want {
			t.Errorf("%q is answered %d, with names: %t", token, r.status, strings.Contains(text, "bob"))
		}
		if !strings.Contains(text, `berth_user_queued_tasks{user="other"}`) || !strings.Contains(text, "berth_raft_term") || !strings.Contains(text, "berth_jobs{") {
			t.Errorf("%q gets %s", token, text)
		}
	}
	open := newSite(t)
	open.submit(`{"command":"x","user":"bob"}`)
	if text := string(open.do(http.MethodGet, "/metrics", "").body); !strings.Contains(text, `user="bob"`) {
		t.Errorf("without authentication: %s", text)
	}
}

// Peers make requests to where a node says that it listens: that is where it registers
// from.
func TestANodesAddressIsItsOwn(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		reported, from, want string
		ok                   bool
	}{
		{"127.0.0.1:7", "127.0.0.1", "127.0.0.1:7", true},
		{"10.0.0.7:7", "127.0.0.1", "10.0.0.7:7", true}, // an agent on this host, or a proxy
		{"10.0.0.7:7", "10.0.0.7", "10.0.0.7:7", true},
		{"10.0.0.7:7", "::ffff:10.0.0.7", "10.0.0.7:7", true},
		{"127.0.0.1:7", "10.0.0.7", "", true},
		{"10.0.0.8:7", "10.0.0.7", "", false},
		{"[fd00::8]:7", "10.0.0.7", "", false},
		{"h1:7", "h1", "h1:7", true}, // which the command refuses
		{"", "10.0.0.7", "", true},
	} {
		got, err := agentapi.Reachable(v.reported, v.from)
		if got != v.want || (err == nil) != v.ok {
			t.Errorf("%q from %s: %q, %v", v.reported, v.from, got, err)
		}
	}
}

// An address that came into the state before it was checked leads nowhere.
func TestRequestsToAgentsKeepTheirPath(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:15555/latest/meta-data/iam?x=", "u@127.0.0.1:1", "", "127.0.0.1"} {
		if r, err := core.NewRequest(t.Context(), http.MethodGet, address, "/node/logs?job=1", nil); err == nil {
			t.Errorf("%q is asked as %s", address, r.URL)
		}
	}
	r, err := core.NewRequest(t.Context(), http.MethodGet, "127.0.0.1:7", "/node/logs?job=1", nil)
	if err != nil || r.URL.String() != "http://127.0.0.1:7/node/logs?job=1" {
		t.Errorf("asked is %v, %v", r, err)
	}
}
