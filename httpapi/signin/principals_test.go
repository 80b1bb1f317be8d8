package signin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The keys of the settings in these tests.
const (
	keyOfKim     = "the-key-of-kim-0001"
	keyOfNightly = "the-key-of-nightly1"
)

// withKeys has a site take keys in addition to its identity provider.
func withKeys(s *apitest.Site, owners map[string]auth.Key) {
	s.T.Helper()
	settings := s.API.Accounts().Source().Settings
	var keys auth.Keys
	for secret, owner := range owners { // order-free: a set
		if err := keys.Add(secret, owner); err != nil {
			s.T.Fatal(err)
		}
	}
	s.TakeOver(&settings, keys)
}

// owners are a user and a service with keys.
func owners() map[string]auth.Key {
	return map[string]auth.Key{
		keyOfKim: {Name: "kim", Human: true, Role: model.RoleUser}, keyOfNightly: {Name: "nightly", Role: model.RoleUser},
	}
}

// An account at the identity provider becomes neither a user nor a service with a key, and no caller of the cluster itself, also where an
// admin gives the name to the next account.
func TestAccountsAreNoUsersWithKeys(t *testing.T) {
	s, from := newProvided(t)
	withKeys(s, owners())
	s.With(func(c *statetest.Cluster) { c.Do(&command.SetUser{User: "kim", Role: model.RoleUser, Bind: true}) })
	var job wire.Submitted
	s.Do(http.MethodPost, "/queue/submit", `{"command": "true", "gpu_count": 1}`, apitest.As(keyOfKim)...).Into(&job)
	before := s.State()
	for name, reason := range map[string]string{"kim": "auth.api_keys", "nightly": "auth.api_keys", "root": "reserved", "Root": "reserved", "anonymous": "reserved"} {
		token := from.Token(from.Claims("mallory-"+name, name, "admins"))
		for _, got := range []*apitest.Reply{
			s.Do(http.MethodGet, "/whoami", "", apitest.As(token)...),
			s.Do(http.MethodGet, "/jobs/"+job.JobID+"/spec", "", apitest.As(token)...),
			s.Do(http.MethodPost, "/oidc/token", `{"id_token": "`+token+`"}`),
		} {
			if p := got.Problem(http.StatusForbidden, "denied"); !strings.Contains(p.Detail, reason) {
				t.Errorf("%s: %q", name, p.Detail)
			}
		}
	}
	if after := s.State(); after.Index != before.Index {
		t.Errorf("refused accounts made %d entries", after.Index-before.Index)
	}
	if p := s.Do(http.MethodPut, "/users/root", `{"role": "user", "provider": true}`, apitest.As(apitest.Adam)...).Problem(http.StatusForbidden, "denied"); !strings.Contains(p.Detail, "reserved") {
		t.Errorf("root for the next account: %q", p.Detail)
	}
}

// A key that is added later does not make its owner the user of an account: the key does not count until the user is removed.
func TestKeysAreNoAccounts(t *testing.T) {
	s, from := newProvided(t)
	token := from.Token(from.Claims("s1", "kim", "ml"))
	made := provide(s, token)
	withKeys(s, owners())
	for _, credential := range []string{token, made.Secret} {
		if me := callerOf(s, credential); me.Name != "kim" {
			t.Errorf("the account, which came first, is %+v", me)
		}
	}
	for _, got := range []*apitest.Reply{
		s.Do(http.MethodGet, "/whoami", "", apitest.As(keyOfKim)...),
		s.Do(http.MethodPost, "/queue/submit", `{"command": "true", "gpu_count": 1}`, apitest.As(keyOfKim)...),
	} {
		if p := got.Problem(http.StatusUnauthorized, wire.CodeUnauthenticated); !strings.Contains(p.Detail, "the key of kim") || !strings.Contains(p.Detail, "berth user remove kim") {
			t.Errorf("refused with %q", p.Detail)
		}
	}
	if me := callerOf(s, keyOfNightly); me.Name != "nightly" {
		t.Errorf("another key is of %+v", me)
	}
	s.Do(http.MethodDelete, "/users/kim", "", apitest.As(apitest.Adam)...)
	if me := callerOf(s, keyOfKim); me.Name != "kim" {
		t.Errorf("after the removal the key is of %+v", me)
	}
	s.Do(http.MethodGet, "/whoami", "", apitest.As(from.Token(from.Claims("s1", "kim", "ml", "all")))...).Problem(http.StatusForbidden, "denied")
}

// An account stays one user, whatever the provider calls it, until an admin gives another name to it.
func TestAnAccountIsOneUser(t *testing.T) {
	s, from := newProvided(t)
	provide(s, from.Token(from.Claims("s1", "alice", "ml")))
	users := s.State()
	for _, name := range []string{"alice2", "alice3", "bob", "root"} {
		token := from.Token(from.Claims("s1", name, "ml"))
		if me := callerOf(s, token); me.Name != "alice" || me.Actor != "user:alice" {
			t.Errorf("as %s the caller is %+v", name, me)
		}
		if made := provide(s, token); callerOf(s, made.Secret).Name != "alice" {
			t.Errorf("as %s the sign-in made a token of %+v", name, callerOf(s, made.Secret))
		}
	}
	if now := s.State(); now.Users.Len() != users.Users.Len() {
		t.Errorf("one account made %d more users", now.Users.Len()-users.Users.Len())
	}
	s.Do(http.MethodPut, "/users/carol", `{"role": "viewer", "provider": true}`, apitest.As(apitest.Adam)...)
	token := from.Token(from.Claims("s1", "carol", "ml"))
	if me := callerOf(s, token); me.Name != "carol" {
		t.Errorf("under the name of the admin the caller is %+v", me)
	}
	st := s.State()
	if alice, _ := st.Users.Get("alice"); !alice.Subject.IsZero() {
		t.Error("the account is two users")
	}
	if me := callerOf(s, from.Token(from.Claims("s1", "alice", "ml"))); me.Name != "carol" {
		t.Errorf("under the former name the caller is %+v", me)
	}
}
