package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A user with the name of a removed one owns nothing of that one, and another's token of
// the name nothing either; what is older than authentication goes by the name.
func TestANewUserOfAnOldName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.with(func(c *statetest.Cluster) {
		c.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" })
		c.Wait(time.Minute)
		guard(c)
		c.Node("n1", 8)
	})
	s.do(http.MethodPost, "/queue/submit", `{"command":"true"}`, as(ann)...).into(new(wire.Submitted))
	var held wire.Allocated
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name":"x","gpu_count":1}`, as(ann)...).into(&held)
	s.do(http.MethodPost, "/webhooks", `{"url":"https://hooks.example/x"}`, as(ann)...).into(new(wire.WebhookMade))
	s.do(http.MethodPost, "/reservations", `{"gpu_count":1,"start":"+1h","duration":"1h","project":"vision"}`, as(ann)...).into(new(wire.Reserved))
	s.do(http.MethodDelete, "/users/ann", "", as(adam)...).into(new(wire.Gone))
	s.with(func(c *statetest.Cluster) {
		c.Wait(time.Minute)
		c.Do(&command.MakeToken{Hash: auth.HashOf(ann), User: "ann", Role: model.RoleUser})
	})
	for _, path := range []string{"DELETE /queue/2", "POST /queue/2/hold", "GET /jobs/2/logs", "POST /jobs/2/attach", "DELETE /reservations/1"} {
		method, path, _ := strings.Cut(path, " ")
		s.do(method, path, "", as(ann)...).problem(http.StatusForbidden, "denied")
	}
	s.do(http.MethodPost, "/gpu/release", `{"allocation_id":"`+held.AllocationID+`"}`, as(ann)...).problem(http.StatusForbidden, "denied")
	var hooks wire.Webhooks
	s.do(http.MethodGet, "/webhooks", "", as(adam)...).into(&hooks)
	if len(hooks.Webhooks) != 0 {
		t.Errorf("left are %+v", hooks.Webhooks)
	}
	s.do(http.MethodDelete, "/queue/1", "", as(ann)...).into(new(wire.Done))
	s.do(http.MethodDelete, "/queue/2", "", as(operatr)...).into(new(wire.Done))
}

// A token is good for 90 days unless another time is given, or none. Its
// last week is announced with every answer.
func TestTokensExpireByDefault(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	now := s.now()
	for body, want := range map[string]time.Time{
		`{"user":"ann"}`:                                          now.Add(90 * 24 * time.Hour),
		`{"user":"ann","expires_in":"8d"}`:                        now.Add(8 * 24 * time.Hour),
		`{"user":"ann","expires_in":"never"}`:                     {},
		`{"user":"nightly","role":"user","expires_in":"never"}`:   {},
		`{"user":"nightly2","role":"user","expires_in":31536000}`: now.Add(365 * 24 * time.Hour),
	} {
		var made wire.MadeToken
		s.do(http.MethodPost, "/tokens", body, as(adam)...).into(&made)
		if !made.ExpiresAt.Equal(want) {
			t.Errorf("%s: expires %s, want %s", body, made.ExpiresAt, want)
		}
	}
	for _, life := range []string{`"forever"`, "0", "-1", `""`, `"11y"`} {
		s.do(http.MethodPost, "/tokens", `{"user":"ann","expires_in":`+life+`}`, as(adam)...).about("expires_in")
	}
	var made wire.MadeToken
	s.do(http.MethodPost, "/tokens", `{"user":"ann","expires_in":"8d"}`, as(adam)...).into(&made)
	var who wire.Whoami
	got := s.do(http.MethodGet, "/whoami", "", as(made.Secret)...)
	if got.into(&who); !who.ExpiresAt.Equal(made.ExpiresAt) || got.header.Get(wire.HeaderExpires) != "" {
		t.Errorf("whoami says %+v, warned %v", who, got.header)
	}
	s.with(func(c *statetest.Cluster) { c.Wait(25 * time.Hour) })
	for _, path := range []string{"/whoami", "/queue", "/no/such"} {
		if got := s.do(http.MethodGet, path, "", as(made.Secret)...); got.header.Get(wire.HeaderExpires) != made.ExpiresAt.UTC().Format(time.RFC3339) {
			t.Errorf("%s does not warn: %v", path, got.header)
		}
	}
	if got := s.do(http.MethodGet, "/queue", "", as(ann)...); got.header.Get(wire.HeaderExpires) != "" {
		t.Error("a token without an end is said to expire")
	}
}

// A first token that has expired is replaced when a peer is started again, unless an admin has
// a key; with such a key there is none to begin with.
func TestTheFirstTokenIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.Gate.Must = true
	var told []string
	found := func() { core.FoundAccess(t.Context(), s.api, func(token string) { told = append(told, token) }) }
	found()
	s.with(func(c *statetest.Cluster) { c.Wait(2 * time.Hour) })
	s.do(http.MethodGet, "/whoami", "", as(told[0])...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	for range 2 {
		found()
	}
	if len(told) != 2 {
		t.Fatalf("told %q", told)
	}
	s.do(http.MethodPost, "/tokens", `{"user":"root","role":"admin"}`, as(told[1])...).into(new(wire.MadeToken))

	s = newSite(t)
	s.api.Gate.Must = true
	var keys auth.Keys
	if err := keys.Add(service, auth.Key{Name: "root", Human: true, Role: model.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
	s.api.TakeOver(core.Terms{Keys: keys})
	told = nil
	found()
	if state := s.State(); len(told) != 0 || state.Tokens.Len() != 0 || !state.Settings().Auth.On() {
		t.Errorf("told %q, %d tokens", told, state.Tokens.Len())
	}
	s.do(http.MethodGet, "/tokens", "", as(service)...).into(new(wire.Tokens))
}

// Refusals are logged without what was shown.
func TestRefusalsAreLogged(t *testing.T) {
	var log bytes.Buffer
	s := newGuarded(t)
	s.api.Gate.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.do(http.MethodGet, "/queue", "", as("berth_mistyped")...)
	s.do(http.MethodPost, "/orchestrator/stop", "", as(ann)...)
	for _, want := range []string{"unauthenticated", "denied", "user:ann", "/orchestrator/stop", "127.0.0.1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &log)
		}
	}
	if strings.Contains(log.String(), "berth_") {
		t.Errorf("the log tells: %s", &log)
	}
}

// limited is a guarded site with a limit of one request a second, where time stands still.
func limited(t *testing.T, terms core.Terms) *site {
	t.Helper()
	s := newGuarded(t)
	now := time.Unix(1, 0)
	clock := func() time.Time { return now }
	s.api.Gate.Callers, s.api.Gate.Agents, s.api.Gate.Addresses = auth.NewLimiter(0, clock), auth.NewLimiter(0, clock), auth.NewLimiter(0, clock)
	terms.Rate = 1
	s.api.TakeOver(terms)
	return s
}

func TestRates(t *testing.T) {
	t.Parallel()
	s := limited(t, core.Terms{})
	for range 2 {
		s.do(http.MethodGet, "/queue", "", as(ann)...).into(new(wire.Queue))
	}
	r := s.do(http.MethodGet, "/queue", "", as(ann)...)
	r.problem(http.StatusTooManyRequests, wire.CodeRateLimited)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	for range 2 {
		s.do(http.MethodGet, "/queue", "", as(bob)...).into(new(wire.Queue))
	}
	for range 8 {
		if got := s.do(http.MethodPost, "/agent/silence", "\xa0", as(agent)...); got.status == http.StatusTooManyRequests {
			t.Error("an agent is limited as a user is")
		}
	}
	s.do(http.MethodPost, "/agent/silence", "\xa0", as(agent)...).problem(http.StatusTooManyRequests, wire.CodeRateLimited)
	if got := s.do(http.MethodPost, "/agent/silence", "\xa0", as(agentOf1)...); got.status == http.StatusTooManyRequests {
		t.Error("an agent pays for another")
	}
}

// A stranger at the same address, such as that of a proxy, uses up nothing of callers that are
// known, nor of probes; nor do these of each other.
func TestAStrangerLimitsNobodyElse(t *testing.T) {
	t.Parallel()
	s := limited(t, core.Terms{})
	for range 5 {
		s.do(http.MethodGet, "/queue", "", as("berth_of_nobody")...)
		s.do(http.MethodGet, "/queue", "")
	}
	s.do(http.MethodGet, "/queue", "", as("berth_of_nobody")...).problem(http.StatusTooManyRequests, wire.CodeRateLimited)
	s.do(http.MethodGet, "/queue", "", as(ann)...).into(new(wire.Queue))
	for _, headers := range [][]string{nil, as("berth_of_nobody"), as(ann)} {
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			for range 2 {
				if got := s.do(http.MethodGet, path, "", headers...); got.status != http.StatusOK && len(headers) == 0 {
					t.Errorf("%s: %d %s", path, got.status, got.body)
				}
			}
		}
	}
	s.do(http.MethodGet, "/queue", "", as(bob)...).into(new(wire.Queue))
}

// Behind a trusted proxy each client pays for itself, and the audit trail names the client.
func TestClientsBehindAProxy(t *testing.T) {
	t.Parallel()
	proxies, _ := auth.ParseProxies([]string{"127.0.0.0/8"})
	s := limited(t, core.Terms{Proxies: proxies})
	var log bytes.Buffer
	s.api.Gate.Log = slog.New(slog.NewTextHandler(&log, nil))
	from := func(address string) *reply {
		return s.do(http.MethodGet, "/queue", "", "X-Forwarded-For", "1.1.1.1, "+address)
	}
	for range 2 {
		from("203.0.113.7").problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	}
	from("203.0.113.7").problem(http.StatusTooManyRequests, wire.CodeRateLimited)
	from("203.0.113.8").problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	if !strings.Contains(log.String(), "from=203.0.113.7") || strings.Contains(log.String(), "1.1.1.1") {
		t.Errorf("the log says %s", &log)
	}
}
