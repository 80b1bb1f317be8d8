package core_test

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
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A user with the name of a removed one owns nothing of that one, and another's token of
// the name nothing either; what is older than authentication goes by the name.
func TestANewUserOfAnOldName(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		c.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" })
		c.Wait(time.Minute)
		apitest.Guard(c)
		c.Node("n1", 8)
	})
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true"}`, apitest.As(apitest.Ann)...).Into(new(wire.Submitted))
	var held wire.Allocated
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name":"x","gpu_count":1}`, apitest.As(apitest.Ann)...).Into(&held)
	s.Do(http.MethodPost, "/webhooks", `{"url":"https://hooks.example/x"}`, apitest.As(apitest.Ann)...).Into(new(wire.WebhookMade))
	s.Do(http.MethodPost, "/reservations", `{"gpu_count":1,"start":"+1h","duration":"1h","project":"vision"}`, apitest.As(apitest.Ann)...).Into(new(wire.Reserved))
	s.Do(http.MethodDelete, "/users/ann", "", apitest.As(apitest.Adam)...).Into(new(wire.Gone))
	s.With(func(c *statetest.Cluster) {
		c.Wait(time.Minute)
		c.Do(&command.MakeToken{Hash: auth.HashOf(apitest.Ann), User: "ann", Role: model.RoleUser})
	})
	for _, path := range []string{"DELETE /queue/2", "POST /queue/2/hold", "GET /jobs/2/logs", "POST /jobs/2/attach", "DELETE /reservations/1"} {
		method, path, _ := strings.Cut(path, " ")
		s.Do(method, path, "", apitest.As(apitest.Ann)...).Problem(http.StatusForbidden, "denied")
	}
	s.Do(http.MethodPost, "/gpu/release", `{"allocation_id":"`+held.AllocationID+`"}`, apitest.As(apitest.Ann)...).Problem(http.StatusForbidden, "denied")
	var hooks wire.Webhooks
	s.Do(http.MethodGet, "/webhooks", "", apitest.As(apitest.Adam)...).Into(&hooks)
	if len(hooks.Webhooks) != 0 {
		t.Errorf("left are %+v", hooks.Webhooks)
	}
	s.Do(http.MethodDelete, "/queue/1", "", apitest.As(apitest.Ann)...).Into(new(wire.Done))
	s.Do(http.MethodDelete, "/queue/2", "", apitest.As(apitest.Operator)...).Into(new(wire.Done))
}

// A token is good for 90 days unless another time is given, or none. Its
// last week is announced with every answer.
func TestTokensExpireByDefault(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	now := s.Now()
	for body, want := range map[string]time.Time{
		`{"user":"ann"}`:                                          now.Add(90 * 24 * time.Hour),
		`{"user":"ann","expires_in":"8d"}`:                        now.Add(8 * 24 * time.Hour),
		`{"user":"ann","expires_in":"never"}`:                     {},
		`{"user":"nightly","role":"user","expires_in":"never"}`:   {},
		`{"user":"nightly2","role":"user","expires_in":31536000}`: now.Add(365 * 24 * time.Hour),
	} {
		var made wire.MadeToken
		s.Do(http.MethodPost, "/tokens", body, apitest.As(apitest.Adam)...).Into(&made)
		if !made.ExpiresAt.Equal(want) {
			t.Errorf("%s: expires %s, want %s", body, made.ExpiresAt, want)
		}
	}
	for _, life := range []string{`"forever"`, "0", "-1", `""`, `"11y"`} {
		s.Do(http.MethodPost, "/tokens", `{"user":"ann","expires_in":`+life+`}`, apitest.As(apitest.Adam)...).About("expires_in")
	}
	var made wire.MadeToken
	s.Do(http.MethodPost, "/tokens", `{"user":"ann","expires_in":"8d"}`, apitest.As(apitest.Adam)...).Into(&made)
	var who wire.Whoami
	got := s.Do(http.MethodGet, "/whoami", "", apitest.As(made.Secret)...)
	if got.Into(&who); !who.ExpiresAt.Equal(made.ExpiresAt) || got.Header.Get(wire.HeaderExpires) != "" {
		t.Errorf("whoami says %+v, warned %v", who, got.Header)
	}
	s.With(func(c *statetest.Cluster) { c.Wait(25 * time.Hour) })
	for _, path := range []string{"/whoami", "/queue", "/no/such"} {
		if got := s.Do(http.MethodGet, path, "",
			apitest.As(made.Secret)...); got.Header.Get(wire.HeaderExpires) != made.ExpiresAt.UTC().Format(time.RFC3339) {
			t.Errorf("%s does not warn: %v", path, got.Header)
		}
	}
	if got := s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Ann)...); got.Header.Get(wire.HeaderExpires) != "" {
		t.Error("a token without an end is said to expire")
	}
}

// A first token that has expired is replaced when a peer is started again, unless an admin has
// a key; with such a key there is none to begin with.
func TestTheFirstTokenIsReplaced(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.API.Gate().Must = true
	var told []string
	found := func() { core.FoundAccess(t.Context(), s.API, func(token string) { told = append(told, token) }) }
	found()
	s.With(func(c *statetest.Cluster) { c.Wait(2 * time.Hour) })
	s.Do(http.MethodGet, "/whoami", "", apitest.As(told[0])...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	for range 2 {
		found()
	}
	if len(told) != 2 {
		t.Fatalf("told %q", told)
	}
	s.Do(http.MethodPost, "/tokens", `{"user":"root","role":"admin"}`, apitest.As(told[1])...).Into(new(wire.MadeToken))

	s = apitest.New(t)
	s.API.Gate().Must = true
	var keys auth.Keys
	if err := keys.Add(apitest.ServiceKey, auth.Key{Name: "root", Human: true, Role: model.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
	s.API.TakeOver(core.Terms{Keys: keys})
	told = nil
	found()
	if state := s.State(); len(told) != 0 || state.Tokens.Len() != 0 || !state.Settings().Auth.On() {
		t.Errorf("told %q, %d tokens", told, state.Tokens.Len())
	}
	s.Do(http.MethodGet, "/tokens", "", apitest.As(apitest.ServiceKey)...).Into(new(wire.Tokens))
}

// Refusals are logged without what was shown.
func TestRefusalsAreLogged(t *testing.T) {
	var log bytes.Buffer
	s := apitest.NewGuarded(t)
	s.API.Gate().Log = slog.New(slog.NewTextHandler(&log, nil))
	s.Do(http.MethodGet, "/queue", "", apitest.As("berth_mistyped")...)
	s.Do(http.MethodPost, "/orchestrator/stop", "", apitest.As(apitest.Ann)...)
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
func limited(t *testing.T, terms core.Terms) *apitest.Site {
	t.Helper()
	s := apitest.NewGuarded(t)
	now := time.Unix(1, 0)
	clock := func() time.Time { return now }
	s.API.Gate().Callers, s.API.Gate().Agents, s.API.Gate().Addresses = auth.NewLimiter(0, clock), auth.NewLimiter(0, clock),
		auth.NewLimiter(0, clock)
	terms.Rate = 1
	s.API.TakeOver(terms)
	return s
}

func TestRates(t *testing.T) {
	t.Parallel()
	s := limited(t, core.Terms{})
	for range 2 {
		s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Ann)...).Into(new(wire.Queue))
	}
	r := s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Ann)...)
	r.Problem(http.StatusTooManyRequests, wire.CodeRateLimited)
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	for range 2 {
		s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Bob)...).Into(new(wire.Queue))
	}
	for range 8 {
		if got := s.Do(http.MethodPost, "/agent/silence", "\xa0", apitest.As(apitest.AgentOf2)...); got.Status == http.StatusTooManyRequests {
			t.Error("an agent is limited as a user is")
		}
	}
	s.Do(http.MethodPost, "/agent/silence", "\xa0", apitest.As(apitest.AgentOf2)...).Problem(http.StatusTooManyRequests, wire.CodeRateLimited)
	if got := s.Do(http.MethodPost, "/agent/silence", "\xa0", apitest.As(apitest.AgentOf1)...); got.Status == http.StatusTooManyRequests {
		t.Error("an agent pays for another")
	}
}

// A stranger at the same address, such as that of a proxy, uses up nothing of callers that are
// known, nor of probes; nor do these of each other.
func TestAStrangerLimitsNobodyElse(t *testing.T) {
	t.Parallel()
	s := limited(t, core.Terms{})
	for range 5 {
		s.Do(http.MethodGet, "/queue", "", apitest.As("berth_of_nobody")...)
		s.Do(http.MethodGet, "/queue", "")
	}
	s.Do(http.MethodGet, "/queue", "", apitest.As("berth_of_nobody")...).Problem(http.StatusTooManyRequests, wire.CodeRateLimited)
	s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Ann)...).Into(new(wire.Queue))
	for _, headers := range [][]string{nil, apitest.As("berth_of_nobody"), apitest.As(apitest.Ann)} {
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			for range 2 {
				if got := s.Do(http.MethodGet, path, "", headers...); got.Status != http.StatusOK && len(headers) == 0 {
					t.Errorf("%s: %d %s", path, got.Status, got.Body)
				}
			}
		}
	}
	s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Bob)...).Into(new(wire.Queue))
}

// Behind a trusted proxy each client pays for itself, and the audit trail names the client.
func TestClientsBehindAProxy(t *testing.T) {
	t.Parallel()
	proxies, _ := auth.ParseProxies([]string{"127.0.0.0/8"})
	s := limited(t, core.Terms{Proxies: proxies})
	var log bytes.Buffer
	s.API.Gate().Log = slog.New(slog.NewTextHandler(&log, nil))
	from := func(address string) *apitest.Reply {
		return s.Do(http.MethodGet, "/queue", "", "X-Forwarded-For", "1.1.1.1, "+address)
	}
	for range 2 {
		from("203.0.113.7").Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	}
	from("203.0.113.7").Problem(http.StatusTooManyRequests, wire.CodeRateLimited)
	from("203.0.113.8").Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	if !strings.Contains(log.String(), "from=203.0.113.7") || strings.Contains(log.String(), "1.1.1.1") {
		t.Errorf("the log says %s", &log)
	}
}

// A token that was just made through a follower may be used there.
func TestATokenIsKnownAtOnce(t *testing.T) {
	s := apitest.NewGuarded(t)
	s.API.Gate().Peer = &apitest.Behind{Peer: s.Peer, Old: s.State()}
	var made wire.MadeToken
	s.Do(http.MethodPost, "/tokens", `{"user":"ann"}`, apitest.As(apitest.Adam)...).Into(&made)
	s.Do(http.MethodGet, "/queue", "", apitest.As(made.Secret)...).Into(new(wire.Queue))
}

// The peer that leads begins to ask, once, and tells the first token.
func TestFoundAccess(t *testing.T) {
	s := apitest.New(t)
	s.API.Gate().Must = true
	s.Do(http.MethodGet, "/queue", "").Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	var told []string
	for range 2 {
		core.FoundAccess(t.Context(), s.API, func(token string) { told = append(told, token) })
	}
	if len(told) != 1 || !s.State().Tokens.Has(auth.HashOf(told[0])) {
		t.Fatalf("told %q", told)
	}
	var who wire.Whoami
	s.Do(http.MethodGet, "/whoami", "", apitest.As(told[0])...).Into(&who)
	if who.Kind != "first" {
		t.Errorf("it is %+v", who)
	}
}
