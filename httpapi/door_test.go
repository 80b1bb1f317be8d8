package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// requestFor is the answer to a request that asks for a host.
func requestFor(s *apitest.Site, host, method, path, body string, headers ...string) *apitest.Reply {
	s.T.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.API.ServeHTTP(w, r)
	return apitest.Recorded(s.T, w)
}

// A page of another site whose name was made to lead to this machine asks by that name,
// with an Origin that fits. Without authentication it would run jobs and read their output.
func TestRequestsForOtherHosts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	same := func(host string) []string {
		return []string{"Origin", "http://" + host, "Sec-Fetch-Site", "same-origin"}
	}
	for _, host := range []string{"evil.example:10000", "evil.example", "127.0.0.1.evil.example:10000", "10.0.0.7:10000", "0.0.0.0:10000", "[fd00::1]:10000"} {
		for _, rule := range apitest.Routes(s) {
			requestFor(s, host, rule.Method, rule.Filled, "", same(host)...).Problem(http.StatusMisdirectedRequest, wire.CodeMisdirected)
		}
		requestFor(s, host, http.MethodPost, "/queue/submit", `{"command":"id"}`, same(host)...).Problem(http.StatusMisdirectedRequest, wire.CodeMisdirected)
		p := requestFor(s, host, http.MethodGet, "/nowhere", "", same(host)...).Problem(http.StatusMisdirectedRequest, wire.CodeMisdirected)
		if !strings.Contains(p.Detail, host) || !strings.Contains(p.Detail, "server.hosts") {
			t.Errorf("it says %s", p.Detail)
		}
	}
	for _, host := range []string{"127.0.0.1:10000", "127.3.2.1", "[::1]:10000", "localhost:10000", "LocalHost", "example.com", ""} {
		if r := requestFor(s, host, http.MethodGet, "/queue", ""); r.Status != http.StatusOK {
			t.Errorf("%q is answered %d %s", host, r.Status, r.Body)
		}
	}
	if s := s.State(); s.Jobs.Len() != 0 {
		t.Errorf("%d jobs were submitted", s.Jobs.Len())
	}
}

// With authentication a page has no token, so that addresses pass; names count where they are configured.
func TestHostsWithAuthentication(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	requestFor(s, "berth.corp", http.MethodGet, "/queue", "", apitest.As(apitest.Ann)...).Problem(http.StatusMisdirectedRequest, wire.CodeMisdirected)
	named := apitest.NewAPI(core.Config{Self: "p1", Now: s.Now, Peer: s.API.Peer, Own: []string{"10.0.0.1:10000"}, Hosts: []string{"berth.corp"}})
	s.API = named
	for host, want := range map[string]int{
		"berth.corp": 200, "BERTH.corp.:443": 200, "10.0.0.1:10000": 200, "10.0.0.9": 200, "localhost": 200, "evil.example": 421, "berth.corp.evil.example": 421,
	} {
		if r := requestFor(s, host, http.MethodGet, "/queue", "", apitest.As(apitest.Ann)...); r.Status != want {
			t.Errorf("%s is answered %d %s", host, r.Status, r.Body)
		}
	}
}

// A proxy in front of the API may have checked one of two credentials.
func TestTwoCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	for _, path := range []string{"/users", "/metrics"} {
		s.Do(http.MethodGet, path, "", append(apitest.As(apitest.Bob), "X-API-Key", apitest.Adam)...).Problem(http.StatusBadRequest, wire.CodeMalformed)
	}
	s.Do(http.MethodGet, "/queue", "", append(apitest.As(apitest.Bob), "X-API-Key", apitest.Bob)...).Into(&wire.Queue{})
}

// A request comes from where it comes from, whatever its headers say.
func TestClientsAddressesWithoutAuthentication(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	kept := &apitest.Refusals{}
	parts := s.API.Peer
	parts.Refusals = kept
	s.API = apitest.NewAPI(core.Config{Self: "p1", Now: s.Now, Peer: parts})
	requestFor(s, "localhost", http.MethodPost, "/queue/submit", `{"command":""}`, "X-Berth-Forwarded", "p2", "X-Berth-Client", "8.8.8.8").About("command")
	if len(kept.List) != 1 || kept.List[0].From != "192.0.2.1" { // as httptest has it
		t.Errorf("kept are %+v", kept.List)
	}
}

// Names of users and services are for callers that may read the queue.
func TestNamesInMetrics(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 2)
		c.Submit(1, func(b *command.Submit) { b.Spec.User = "bob" })
		c.Do(&command.Allocate{ID: "secret-1", Service: "secret-service", User: "bob", Class: model.ClassNormal, Priority: 5, GPUs: 1})
	})
	for token, want := range map[string]bool{
		"": false, "berth_of_nobody": false, apitest.AgentOf1: false, apitest.Viewer: true, apitest.Ann: true,
		apitest.Adam: true,
	} {
		var headers []string
		if token != "" {
			headers = apitest.As(token)
		}
		r := s.Do(http.MethodGet, "/metrics", "", headers...)
		text := string(r.Body)
		if r.Status != http.StatusOK || strings.Contains(text, `user="bob"`) != want || strings.Contains(text, "secret-service") != want {
			t.Errorf("%q is answered %d, with names: %t", token, r.Status, strings.Contains(text, "bob"))
		}
		if !strings.Contains(text, `berth_user_queued_tasks{user="other"}`) || !strings.Contains(text, "berth_raft_term") || !strings.Contains(text, "berth_jobs{") {
			t.Errorf("%q gets %s", token, text)
		}
	}
	open := apitest.New(t)
	open.Submit(`{"command":"x","user":"bob"}`)
	if text := string(open.Do(http.MethodGet, "/metrics", "").Body); !strings.Contains(text, `user="bob"`) {
		t.Errorf("without authentication: %s", text)
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
