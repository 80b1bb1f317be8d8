package oidc

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/test/oidctest"
)

// start is the time of the tests.
var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// pair starts a provider, and what reads it.
func pair(t *testing.T) (*oidctest.Provider, *Provider, *time.Time) {
	t.Helper()
	at := start
	now := func() time.Time { return at }
	from := oidctest.New(t, now)
	t.Cleanup(from.Close)
	return from, New(connect(from), now), &at
}

func connect(from *oidctest.Provider) Connection {
	return Connection{
		Issuer: from.Issuer(), ClientID: oidctest.Client, Audience: oidctest.Client, Scopes: "openid groups", UserClaim: "preferred_username", GroupsClaim: "groups",
	}
}

// A good token is its account's.
func TestVerify(t *testing.T) {
	t.Parallel()
	from, p, _ := pair(t)
	got, err := p.Verify(t.Context(), from.Token(from.Claims("s1", "alice", "ml", "ops")))
	if err != nil || got.Name != "alice" || strings.Join(got.Groups, " ") != "ml ops" || got.Subject != subjectOf(from.Issuer(), "s1") ||
		got.Issued != model.TimeOf(start) || got.Expires != model.TimeOf(start.Add(10*time.Minute)) {
		t.Fatalf("a good token is of %+v, %v", got, err)
	}
}

// wrong returns tokens that are wrong in one way each, with a part of the reason.
func wrong(t *testing.T, from, other *oidctest.Provider) map[string][2]string {
	t.Helper()
	with := func(name string, value any) string {
		claims := from.Claims("s1", "alice", "ml")
		if value == nil {
			delete(claims, name)
		} else {
			claims[name] = value
		}
		return from.Token(claims)
	}
	key := from.Key()
	public, err := x509.MarshalPKIXPublicKey(key.Public().Key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	raw := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	good := from.Token(from.Claims("s1", "alice", "ml"))
	parts := strings.Split(good, ".")
	return map[string][2]string{
		"of another issuer":    {with("iss", other.Issuer()), "issued by a different provider"},
		"for another audience": {with("aud", "grafana"), "expected audience"},
		"for several others":   {with("aud", []string{"grafana", "argo"}), "expected audience"},
		"without an audience":  {with("aud", nil), "expected audience"},
		"expired":              {with("exp", start.Add(-time.Second).Unix()), "expired at 2030-01-02T03:04:04Z: sign in again"},
		"without an end":       {with("exp", nil), "expired"},
		"not valid yet":        {with("nbf", start.Add(6*time.Minute).Unix()), "nbf"},
		"issued in the future": {with("iat", start.Add(2*time.Minute).Unix()), "in the future"},
		"without iat":          {with("iat", nil), "no claim iat"},

		"without a subject":               {with("sub", nil), "no claim sub"},
		"without a name":                  {with("preferred_username", nil), "no claim preferred_username"},
		"with a name that is no text":     {with("preferred_username", 7), "no claim preferred_username"},
		"with a Cyrillic letter":          {with("preferred_username", "\u0430lice"), "cannot be the name of a user"},
		"with a space in the name":        {with("preferred_username", "al ice"), "cannot be the name of a user"},
		"with groups that are no list":    {with("groups", map[string]any{"a": 1}), "no list of names"},
		"without a signature":             {raw(`{"alg":"none"}`) + "." + parts[1] + ".", "no JWT with one signature of an accepted algorithm"},
		"with none and a signature":       {raw(`{"alg":"none","kid":"`+key.KeyID+`"}`) + "." + parts[1] + "." + parts[2], "accepted algorithm"},
		"with the public key as a secret": {oidctest.Sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: text}, from.Claims("s1", "alice", "ml")), "accepted algorithm"},
		"with that and the key's id": {
			oidctest.Sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: jose.JSONWebKey{Key: text, KeyID: key.KeyID}}, from.Claims("s1", "alice", "ml")),
			"accepted algorithm",
		},
		"with an unknown key": {oidctest.Sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key.Key, KeyID: "unheard-of"}},
			from.Claims("s1", "alice", "ml")), `no key with the id "unheard-of"`},
		"with another key under the same id": {oidctest.Sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: other.Key().Key, KeyID: key.KeyID}},
			from.Claims("s1", "alice", "ml")), "not by a key of the provider"},
		"with another key and no id":         {oidctest.Sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: other.Key().Key}, from.Claims("s1", "alice", "ml")), "not by a key of the provider"},
		"with other claims than were signed": {parts[0] + "." + raw(`{"iss":"`+from.Issuer()+`"}`) + "." + parts[2], "not by a key of the provider"},
		"that is no token":                   {"eyJ.eyJ.x", "no JWT"},
	}
}

// Each token that is wrong in one way is refused with its reason, which quotes no signature.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	from, p, _ := pair(t)
	other := oidctest.New(t, from.Now)
	t.Cleanup(other.Close)
	for name, v := range wrong(t, from, other) {
		got, err := p.Verify(t.Context(), v[0])
		refused, is := errors.AsType[*RefusedError](err)
		if _, signature, _ := strings.Cut(v[0], "."); !is || !strings.Contains(refused.Reason, v[1]) || strings.Contains(refused.Reason, signature) {
			t.Errorf("a token %s is of %+v, %v; want a refusal that says %q", name, got, err, v[1])
		}
	}
}

// A token of several audiences, one group as a text, and an address as the name are accepted, unless the provider says that the address is
// not checked.
func TestVerifyOtherForms(t *testing.T) {
	t.Parallel()
	from, p, _ := pair(t)
	claims := from.Claims("s1", "alice")
	claims["aud"], claims["groups"] = []string{"other", oidctest.Client}, "ml"
	if got, err := p.Verify(t.Context(), from.Token(claims)); err != nil || len(got.Groups) != 1 || got.Groups[0] != "ml" {
		t.Errorf("one group as a text: %+v, %v", got, err)
	}
	delete(claims, "groups")
	if got, err := p.Verify(t.Context(), from.Token(claims)); err != nil || len(got.Groups) != 0 {
		t.Errorf("no groups: %+v, %v", got, err)
	}
	c := connect(from)
	c.UserClaim = "email"
	p = New(c, from.Now)
	claims["email"] = "alice@example.org"
	if got, err := p.Verify(t.Context(), from.Token(claims)); err != nil || got.Name != "alice@example.org" {
		t.Errorf("the address as the name: %+v, %v", got, err)
	}
	claims["email_verified"] = false
	if _, err := p.Verify(t.Context(), from.Token(claims)); err == nil || !strings.Contains(err.Error(), "email_verified") {
		t.Errorf("an address that is not checked: %v", err)
	}
}

// A key that the provider begins to use is fetched once, and unknown keys do not have the keys fetched over and over.
func TestRotation(t *testing.T) {
	t.Parallel()
	from, p, at := pair(t)
	before := from.Token(from.Claims("s1", "alice", "ml"))
	if _, err := p.Verify(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	from.Rotate()
	after := from.Token(from.Claims("s1", "alice", "ml"))
	if _, err := p.Verify(t.Context(), after); err == nil || !strings.Contains(err.Error(), "no key") {
		t.Errorf("the keys were fetched again at once: %v", err)
	}
	*at = at.Add(again)
	for range 3 {
		if _, err := p.Verify(t.Context(), after); err != nil {
			t.Errorf("a token by the new key: %v", err)
		}
	}
	if n := from.Fetched(); n != 2 {
		t.Errorf("the keys were fetched %d times", n)
	}
	if _, err := New(connect(from), from.Now).Verify(t.Context(), before); err == nil {
		t.Error("a token by a key that is gone is accepted")
	}
}

// Keys that are known are used while the provider is down, and without them a caller is told so; no caller waits for a try that has just
// failed.
func TestDown(t *testing.T) {
	t.Parallel()
	from, p, at := pair(t)
	from.Down(true)
	token := from.Token(from.Claims("s1", "alice", "ml"))
	if _, err := p.Verify(t.Context(), token); !errors.Is(err, ErrDown) {
		t.Fatalf("the provider is down, and the token is judged: %v", err)
	}
	from.Down(false)
	if _, err := p.Verify(t.Context(), token); !errors.Is(err, ErrDown) {
		t.Errorf("the provider is asked again at once: %v", err)
	}
	*at = at.Add(again)
	if _, err := p.Verify(t.Context(), from.Token(from.Claims("s1", "alice", "ml"))); err != nil {
		t.Errorf("the provider works again: %v", err)
	}
	from.Down(true)
	*at = at.Add(2 * oldest)
	if _, err := p.Verify(t.Context(), from.Token(from.Claims("s1", "alice", "ml"))); err != nil {
		t.Errorf("the provider is down, and its keys are known: %v", err)
	}
}

// A verified token stays known until it ends.
func TestKnown(t *testing.T) {
	t.Parallel()
	from, p, at := pair(t)
	token := from.Token(from.Claims("s1", "alice", "ml"))
	if _, err := p.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	from.Down(true)
	if _, known := p.Known(auth.HashOf(token)); !known {
		t.Error("a verified token is not known")
	}
	*at = at.Add(10*time.Minute + time.Second)
	if _, err := p.Verify(t.Context(), token); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a token that has ended: %v", err)
	}
}

// A caller whose key is known does not wait for the provider, whatever another one waits for.
func TestNoCallerWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(Connection{Issuer: "http://127.0.0.1:1"}, time.Now)
		p.fetching = make(chan struct{}) // a try that does not end
		p.found = &document{keys: []jose.JSONWebKey{{Key: testKey(), KeyID: "known"}}, at: time.Now()}
		began := time.Now()
		if _, err := p.document(t.Context(), "known"); err != nil || time.Since(began) > 0 {
			t.Errorf("a known key: %v after %s", err, time.Since(began))
		}
		close(p.fetching)
	})
}
