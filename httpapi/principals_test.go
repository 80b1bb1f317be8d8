package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The keys of the settings in these tests.
const (
	keyOfKim     = "the-key-of-kim-0001"
	keyOfNightly = "the-key-of-nightly1"
)

// withKeys has a site take keys in addition to its identity provider.
func (s *site) withKeys(owners map[string]auth.Key) {
	s.t.Helper()
	settings := s.api.Gate.Accounts.Source().Settings
	t := core.Terms{OIDC: &settings}
	for secret, owner := range owners { // order-free: a set
		if err := t.Keys.Add(secret, owner); err != nil {
			s.t.Fatal(err)
		}
	}
	s.api.TakeOver(t)
}

// owners are a user and a service with keys.
func owners() map[string]auth.Key {
	return map[string]auth.Key{
		keyOfKim: {Name: "kim", Human: true, Role: model.RoleUser}, keyOfNightly: {Name: "nightly", Role: model.RoleUser},
	}
}

// An account at the identity provider becomes neither a user nor a service with a key, and no caller of the cluster itself, also where an admin gives the
// name to the next account.
func TestAccountsAreNoUsersWithKeys(t *testing.T) {
	s, from := newProvided(t)
	s.withKeys(owners())
	s.with(func(c *statetest.Cluster) { c.Do(&command.SetUser{User: "kim", Role: model.RoleUser, Bind: true}) })
	var job wire.Submitted
	s.do(http.MethodPost, "/queue/submit", `{"command": "true", "gpu_count": 1}`, as(keyOfKim)...).into(&job)
	before := s.State()
	for name, reason := range map[string]string{"kim": "auth.api_keys", "nightly": "auth.api_keys", "root": "reserved", "Root": "reserved", "anonymous": "reserved"} {
		token := from.Token(from.Claims("mallory-"+name, name, "admins"))
		for _, got := range []*reply{
			s.do(http.MethodGet, "/whoami", "", as(token)...),
			s.do(http.MethodGet, "/jobs/"+job.JobID+"/spec", "", as(token)...),
			s.do(http.MethodPost, "/oidc/token", `{"id_token": "`+token+`"}`),
		} {
			if p := got.problem(http.StatusForbidden, "denied"); !strings.Contains(p.Detail, reason) {
				t.Errorf("%s: %q", name, p.Detail)
			}
		}
	}
	if after := s.State(); after.Index != before.Index {
		t.Errorf("refused accounts made %d entries", after.Index-before.Index)
	}
	if p := s.do(http.MethodPut, "/users/root", `{"role": "user", "provider": true}`, as(adam)...).problem(http.StatusForbidden, "denied"); !strings.Contains(p.Detail, "reserved") {
		t.Errorf("root for the next account: %q", p.Detail)
	}
}

// A key that is added later does not make its owner the user of an account: the key does not count until the user is removed.
func TestKeysAreNoAccounts(t *testing.T) {
	s, from := newProvided(t)
	token := from.Token(from.Claims("s1", "kim", "ml"))
	made := s.provide(token)
	s.withKeys(owners())
	for _, credential := range []string{token, made.Secret} {
		if me := s.me(credential); me.Name != "kim" {
			t.Errorf("the account, which came first, is %+v", me)
		}
	}
	for _, got := range []*reply{
		s.do(http.MethodGet, "/whoami", "", as(keyOfKim)...),
		s.do(http.MethodPost, "/queue/submit", `{"command": "true", "gpu_count": 1}`, as(keyOfKim)...),
	} {
		if p := got.problem(http.StatusUnauthorized, wire.CodeUnauthenticated); !strings.Contains(p.Detail, "the key of kim") || !strings.Contains(p.Detail, "berth user remove kim") {
			t.Errorf("refused with %q", p.Detail)
		}
	}
	if me := s.me(keyOfNightly); me.Name != "nightly" {
		t.Errorf("another key is of %+v", me)
	}
	s.do(http.MethodDelete, "/users/kim", "", as(adam)...)
	if me := s.me(keyOfKim); me.Name != "kim" {
		t.Errorf("after the removal the key is of %+v", me)
	}
	s.do(http.MethodGet, "/whoami", "", as(from.Token(from.Claims("s1", "kim", "ml", "all")))...).problem(http.StatusForbidden, "denied")
}

// An account stays one user, whatever the provider calls it, until an admin gives another name to it.
func TestAnAccountIsOneUser(t *testing.T) {
	s, from := newProvided(t)
	s.provide(from.Token(from.Claims("s1", "alice", "ml")))
	users := s.State()
	for _, name := range []string{"alice2", "alice3", "bob", "root"} {
		token := from.Token(from.Claims("s1", name, "ml"))
		if me := s.me(token); me.Name != "alice" || me.Actor != "user:alice" {
			t.Errorf("as %s the caller is %+v", name, me)
		}
		if made := s.provide(token); s.me(made.Secret).Name != "alice" {
			t.Errorf("as %s the sign-in made a token of %+v", name, s.me(made.Secret))
		}
	}
	if now := s.State(); now.Users.Len() != users.Users.Len() {
		t.Errorf("one account made %d more users", now.Users.Len()-users.Users.Len())
	}
	s.do(http.MethodPut, "/users/carol", `{"role": "viewer", "provider": true}`, as(adam)...)
	token := from.Token(from.Claims("s1", "carol", "ml"))
	if me := s.me(token); me.Name != "carol" {
		t.Errorf("under the name of the admin the caller is %+v", me)
	}
	st := s.State()
	if alice, _ := st.Users.Get("alice"); !alice.Subject.IsZero() {
		t.Error("the account is two users")
	}
	if me := s.me(from.Token(from.Claims("s1", "alice", "ml"))); me.Name != "carol" {
		t.Errorf("under the former name the caller is %+v", me)
	}
}
