package signin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/oidc"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/test/oidctest"
)

// rights are what the groups of the provider allow in these tests.
func rights() oidc.Groups {
	return oidc.Groups{
		"ml":  {Role: model.RoleUser, Projects: []string{"vision"}},
		"ops": {Role: model.RoleOperator, Projects: []string{"infra"}}, "admins": {Role: model.RoleAdmin}, "all": {Role: model.RoleViewer},
	}
}

// follows has a site take an identity provider.
func follows(s *apitest.Site, from *oidctest.Provider, groups oidc.Groups) {
	s.TakeOver(&oidc.Settings{
		TokenLife: 12 * time.Hour, Groups: groups, Connection: oidc.Connection{
			Issuer: from.Issuer(), ClientID: oidctest.Client, Audience: oidctest.Client, Scopes: "openid groups", UserClaim: "preferred_username", GroupsClaim: "groups",
		},
	}, auth.Keys{})
}

// newProvided is a site with authentication and an identity provider.
func newProvided(t *testing.T) (*apitest.Site, *oidctest.Provider) {
	t.Helper()
	s := apitest.NewGuarded(t)
	from := oidctest.New(t, s.Now)
	t.Cleanup(from.Close)
	follows(s, from, rights())
	return s, from
}

// callerOf returns the caller that a token makes.
func callerOf(s *apitest.Site, token string) wire.Whoami {
	s.T.Helper()
	var out wire.Whoami
	s.Do(http.MethodGet, "/whoami", "", apitest.As(token)...).Into(&out)
	return out
}

// provide returns the token that a provider's token is good for.
func provide(s *apitest.Site, token string) wire.ProviderToken {
	s.T.Helper()
	var out wire.ProviderToken
	s.Do(http.MethodPost, "/oidc/token", `{"id_token": "`+token+`", "name": "oidc laptop"}`).Into(&out)
	return out
}

// A token of the provider authenticates requests, and its user is added with the rights of the groups.
func TestProviderToken(t *testing.T) {
	s, from := newProvided(t)
	token := from.Token(from.Claims("s1", "alice", "ml", "all", "other"))
	me := callerOf(s, token)
	if me.Name != "alice" || me.Role != "user" || me.Actor != "user:alice" || strings.Join(me.Projects, " ") != "vision" ||
		!me.ExpiresAt.Equal(s.Now().Add(10*time.Minute).Truncate(time.Second)) {
		t.Errorf("the caller is %+v at %s", me, s.Now())
	}
	before := s.State()
	callerOf(s, token)
	callerOf(s, from.Token(from.Claims("s1", "alice", "ml")))
	if after := s.State(); after.Index != before.Index {
		t.Errorf("tokens that state the same made %d entries", after.Index-before.Index)
	}
	var job wire.Submitted
	s.Do(http.MethodPost, "/queue/submit", `{"command": "true", "gpu_count": 1, "project": "vision"}`, apitest.As(token)...).Into(&job)
	s.Do(http.MethodPut, "/users/bob", `{"role": "viewer"}`, apitest.As(token)...).Problem(http.StatusForbidden, "denied")
	answer := s.Do(http.MethodGet, "/queue", "", apitest.As(token)...)
	if answer.Header.Get(wire.HeaderExpires) != "" {
		t.Error("each answer warns of the end of a token of ten minutes")
	}
}

// A sign-in makes a token of the cluster with the role of the groups and a short life.
func TestProviderSignIn(t *testing.T) {
	s, from := newProvided(t)
	made := provide(s, from.Token(from.Claims("s1", "alice", "ml")))
	if !strings.HasPrefix(made.Secret, auth.Prefix) || made.Token == nil || made.Token.Name != "oidc laptop" || made.Token.Role != "user" ||
		made.Token.CreatedBy != "user:alice" {
		t.Fatalf("made %+v", made)
	}
	if me := callerOf(s, made.Secret); me.Name != "alice" || me.Role != "user" || me.ExpiresAt.Sub(s.Now()) != 12*time.Hour {
		t.Errorf("the caller is %+v", me)
	}
	provide(s, from.Token(from.Claims("s1", "alice", "ops")))
	if me := callerOf(s, made.Secret); me.Role != "user" || strings.Join(me.Projects, " ") != "infra" {
		t.Errorf("after a promotion the former token is of %+v", me)
	}
	provide(s, from.Token(from.Claims("s1", "alice", "all")))
	if me := callerOf(s, made.Secret); me.Role != "viewer" || len(me.Projects) != 0 {
		t.Errorf("after a demotion the former token is of %+v", me)
	}
}

// A device code is pending until the user has signed in, and then good for a token.
func TestProviderDevice(t *testing.T) {
	s, from := newProvided(t)
	var at wire.Provider
	s.Do(http.MethodGet, "/oidc", "").Into(&at)
	if at.Issuer != from.Issuer() || at.ClientID != oidctest.Client || strings.Join(at.Scopes, " ") != "openid groups" || at.Device == "" {
		t.Errorf("the provider is %+v", at)
	}
	var d wire.Device
	s.Do(http.MethodPost, "/oidc/device", "").Into(&d)
	ask := func() *apitest.Reply { return s.Do(http.MethodPost, "/oidc/token", `{"device_code": "`+d.Code+`"}`) }
	var out wire.ProviderToken
	if ask().Into(&out); !out.Pending || out.Slower || out.Secret != "" {
		t.Errorf("at first: %+v", out)
	}
	from.Enter(d.UserCode, "slow_down")
	if ask().Into(&out); !out.Pending || !out.Slower {
		t.Errorf("too early: %+v", out)
	}
	from.Enter(d.UserCode, "access_denied")
	if p := ask().Problem(http.StatusUnauthorized, wire.CodeUnauthenticated); !strings.Contains(p.Detail, "refused at the identity provider") {
		t.Errorf("refused with %q", p.Detail)
	}
	from.Enter(d.UserCode, from.Token(from.Claims("s1", "alice", "ml")))
	out = wire.ProviderToken{}
	if ask().Into(&out); out.Pending || callerOf(s, out.Secret).Name != "alice" {
		t.Errorf("signed in: %+v", out)
	}
	ask().Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Do(http.MethodPost, "/oidc/token", `{}`).About("id_token")
}

// Callers without rights here are refused, with the reason and without a change of the state.
func TestProviderRefuses(t *testing.T) {
	s, from := newProvided(t)
	provide(s, from.Token(from.Claims("s1", "alice", "ml")))
	expired := from.Claims("s1", "alice", "ml")
	expired["exp"] = s.Now().Add(-time.Minute).Unix()
	before := s.State()
	for name, v := range map[string]struct {
		claims map[string]any
		status int
		reason string
	}{
		"no mapped group":         {from.Claims("s2", "carol", "other", "more"), http.StatusForbidden, "none of your groups"},
		"no group":                {from.Claims("s2", "carol"), http.StatusForbidden, "no group of yours"},
		"a local user's name":     {from.Claims("s2", "bob", "ml"), http.StatusForbidden, "berth user set bob --provider"},
		"an admin's name":         {from.Claims("s2", "adam", "admins"), http.StatusForbidden, "berth user set adam --provider"},
		"another account's name":  {from.Claims("s2", "alice", "ml"), http.StatusForbidden, "the user of another account"},
		"an expired token":        {expired, http.StatusUnauthorized, "expired"},
		"a name of mixed scripts": {from.Claims("s3", "\u0430lice", "ml"), http.StatusUnauthorized, "cannot be the name of a user"},
	} {
		token := from.Token(v.claims)
		code := map[int]string{http.StatusForbidden: "denied", http.StatusUnauthorized: wire.CodeUnauthenticated}[v.status]
		for _, got := range []*apitest.Reply{
			s.Do(http.MethodGet, "/queue", "", apitest.As(token)...),
			s.Do(http.MethodPost, "/queue/submit", `{"command": "true", "gpu_count": 1}`, apitest.As(token)...),
			s.Do(http.MethodPost, "/oidc/token", `{"id_token": "`+token+`"}`),
		} {
			if p := got.Problem(v.status, code); !strings.Contains(p.Detail, v.reason) || strings.Contains(p.Detail, token) {
				t.Errorf("%s: %q", name, p.Detail)
			}
		}
	}
	if after := s.State(); after.Index != before.Index {
		t.Errorf("refused tokens made %d entries", after.Index-before.Index)
	}
}

// An admin lets an account take a local user, whose name it then has; the projects that an admin has given stay.
func TestProviderTakesALocalUser(t *testing.T) {
	s, from := newProvided(t)
	token := from.Token(from.Claims("s9", "ann", "ops"))
	s.Do(http.MethodGet, "/queue", "", apitest.As(token)...).Problem(http.StatusForbidden, "denied")
	var user wire.User
	if s.Do(http.MethodPut, "/users/ann", `{"provider": true}`, apitest.As(apitest.Adam)...).Into(&user); user.Account != "next" {
		t.Errorf("the user is %+v", user)
	}
	if me := callerOf(s, token); me.Name != "ann" || me.Role != "operator" || strings.Join(me.Projects, " ") != "infra vision" {
		t.Errorf("the caller is %+v", me)
	}
	s.Do(http.MethodGet, "/queue", "", apitest.As(from.Token(from.Claims("s10", "ann", "ops")))...).Problem(http.StatusForbidden, "denied")
	if me := callerOf(s, from.Token(from.Claims("s9", "ann", "all"))); me.Role != "viewer" || strings.Join(me.Projects, " ") != "vision" {
		t.Errorf("without the group the caller is %+v", me)
	}
}

// A token that was issued before another one does not give back what that one has taken.
func TestProviderOlderToken(t *testing.T) {
	s, from := newProvided(t)
	old := from.Token(from.Claims("s1", "alice", "ops"))
	s.With(func(c *statetest.Cluster) { c.Now = c.Now.Add(time.Minute); c.Do(&command.SetRunning{Running: true}) })
	if me := callerOf(s, from.Token(from.Claims("s1", "alice", "ml"))); me.Role != "user" {
		t.Fatalf("the caller is %+v", me)
	}
	if me := callerOf(s, old); me.Role != "user" || strings.Join(me.Projects, " ") != "vision" {
		t.Errorf("with the older token the caller is %+v", me)
	}
}

// The provider cannot take the rights of the last admin: the user keeps them, and what the provider issues counts with those of the groups.
// The state is not asked again at once.
func TestProviderLastAdmin(t *testing.T) {
	s, from := newProvided(t)
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetUser{User: "adam", Bind: true})
	})
	if me := callerOf(s, from.Token(from.Claims("s1", "adam", "admins"))); me.Role != "admin" {
		t.Fatalf("the caller is %+v", me)
	}
	lowered := from.Token(from.Claims("s1", "adam", "ml"))
	if me := callerOf(s, lowered); me.Role != "user" || me.Name != "adam" {
		t.Errorf("with the lower group the caller is %+v", me)
	}
	before := s.State()
	callerOf(s, from.Token(from.Claims("s1", "adam", "ml", "all")))
	if after := s.State(); after.Index != before.Index {
		t.Error("the state is asked at each token")
	}
	if made := provide(s, lowered); made.Token.Role != "user" {
		t.Errorf("a sign-in made %+v", made.Token)
	}
	if me := callerOf(s, apitest.Adam); me.Role != "admin" {
		t.Errorf("the last admin is %+v", me)
	}
}

// A change of what groups allow counts at once, for tokens that are in use, too; so does the end of the provider.
func TestProviderSettingsChange(t *testing.T) {
	s, from := newProvided(t)
	token := from.Token(from.Claims("s1", "alice", "ops"))
	if me := callerOf(s, token); me.Role != "operator" {
		t.Fatalf("the caller is %+v", me)
	}
	fetched := from.Fetched()
	follows(s, from, oidc.Groups{"ops": {Role: model.RoleViewer}})
	if me := callerOf(s, token); me.Role != "viewer" || from.Fetched() != fetched {
		t.Errorf("the caller is %+v; the keys were fetched %d times", me, from.Fetched())
	}
	follows(s, from, oidc.Groups{"ml": {Role: model.RoleViewer}})
	s.Do(http.MethodGet, "/queue", "", apitest.As(token)...).Problem(http.StatusForbidden, "denied")
	s.TakeOver(nil, auth.Keys{})
	s.Do(http.MethodGet, "/queue", "", apitest.As(token)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Do(http.MethodGet, "/oidc", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodPost, "/oidc/device", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodPost, "/oidc/token", `{"id_token": "x"}`).Problem(http.StatusNotFound, wire.CodeNotFound)
}

// A provider that is down is named, and tokens of the cluster are accepted all the same.
func TestProviderDown(t *testing.T) {
	s, from := newProvided(t)
	from.Down(true)
	token := from.Token(from.Claims("s1", "alice", "ml"))
	s.Do(http.MethodGet, "/queue", "", apitest.As(token)...).Problem(http.StatusBadGateway, "provider_unreachable")
	s.Do(http.MethodGet, "/oidc", "").Problem(http.StatusBadGateway, "provider_unreachable")
	s.Do(http.MethodPost, "/oidc/device", "").Problem(http.StatusBadGateway, "provider_unreachable")
	if me := callerOf(s, apitest.Ann); me.Name != "ann" {
		t.Errorf("the caller is %+v", me)
	}
}

// A stream ends with the token of the provider that it was opened with.
func TestProviderStreamEnds(t *testing.T) {
	s, from := newProvided(t)
	claims := from.Claims("s1", "alice", "ml")
	claims["exp"] = s.Now().Add(2 * time.Second).Unix()
	token := from.Token(claims)
	done := make(chan *apitest.Reply, 1)
	go func() { done <- s.Do(http.MethodGet, "/events", "", apitest.As(token)...) }()
	until := time.Now().Add(20 * time.Second)
	for s.API.Held() == 0 && time.Now().Before(until) {
		<-s.Changed(model.TopicSet(0).With(model.TopicSettings), 0)
	}
	s.With(func(c *statetest.Cluster) { c.Now = c.Now.Add(time.Minute); c.Do(&command.SetRunning{Running: true}) })
	select {
	case got := <-done:
		if !strings.Contains(string(got.Body), "expired") {
			t.Errorf("ended with %d %s", got.Status, got.Body)
		}
	case <-time.After(20 * time.Second):
		t.Error("the stream goes on")
	}
}

// Requests with tokens that are not valid pay from the bucket of their address.
func TestProviderFlood(t *testing.T) {
	s, from := newProvided(t)
	terms := *s.API.Terms()
	terms.Rate = 1
	s.API.TakeOver(terms)
	bad := from.Claims("s1", "alice", "ml")
	bad["aud"] = "other"
	token := from.Token(bad)
	for i := range 10 {
		if got := s.Do(http.MethodGet, "/queue", "", apitest.As(token)...); got.Status == http.StatusTooManyRequests {
			if i < 1 {
				t.Error("the first request is limited")
			}
			return
		}
	}
	t.Error("any number of requests is verified")
}
