package oidc

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

func testKey() *rsa.PublicKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return &key.PublicKey
}

// A sign-in on another device passes through all its states.
func TestDevice(t *testing.T) {
	t.Parallel()
	from, p, _ := pair(t)
	d, err := p.Begin(t.Context())
	if err != nil || d.UserCode != "DEVICE-1" || d.Interval != 1 || d.VerificationURI == "" {
		t.Fatalf("begun with %+v, %v", d, err)
	}
	for answer, want := range map[string]Progress{"authorization_pending": Pending, "slow_down": Slower} {
		from.Enter(d.UserCode, answer)
		if token, at, err := p.Poll(t.Context(), d.DeviceCode); err != nil || at != want || token != "" {
			t.Errorf("%s: %q, %d, %v", answer, token, at, err)
		}
	}
	for answer, want := range map[string]string{"access_denied": "was refused", "expired_token": "has expired", "invalid_scope": "invalid_scope"} {
		from.Enter(d.UserCode, answer)
		_, _, err := p.Poll(t.Context(), d.DeviceCode)
		if refused, is := errors.AsType[*RefusedError](err); !is || !strings.Contains(refused.Reason, want) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
	}
	token := from.Token(from.Claims("s1", "alice", "ml"))
	from.Enter(d.UserCode, token)
	if got, at, err := p.Poll(t.Context(), d.DeviceCode); err != nil || at != Done || got != token {
		t.Errorf("signed in: %q, %d, %v", got, at, err)
	}
	if _, _, err := p.Poll(t.Context(), d.DeviceCode); err == nil || !strings.Contains(err.Error(), "was used") {
		t.Errorf("the code is good twice: %v", err)
	}
}

// A client with a secret shows it, and one without it is refused.
func TestDeviceSecret(t *testing.T) {
	t.Parallel()
	from, p, _ := pair(t)
	from.Secret("of the client")
	if _, err := p.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("without the secret: %v", err)
	}
	c := connect(from)
	c.Secret = "of the client"
	p = New(c, from.Now)
	d, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, at, err := p.Poll(t.Context(), d.DeviceCode); err != nil || at != Pending {
		t.Errorf("with the secret: %d, %v", at, err)
	}
	from.Down(true)
	if _, _, err := p.Poll(t.Context(), d.DeviceCode); !errors.Is(err, ErrDown) {
		t.Errorf("while the provider is down: %v", err)
	}
}

// Sign-ins cannot flood the provider.
func TestDeviceBusy(t *testing.T) {
	t.Parallel()
	_, p, _ := pair(t)
	for range 3 * asksPerSecond {
		if _, err := p.Begin(t.Context()); err != nil {
			if busy, is := errors.AsType[*BusyError](err); !is || busy.Wait <= 0 {
				t.Errorf("refused with %v", err)
			}
			return
		}
	}
	t.Error("any number of sign-ins is begun in an instant")
}

// The rights of several groups are the highest role and all projects.
func TestGroups(t *testing.T) {
	t.Parallel()
	g := Groups{"ml": {Role: model.RoleUser, Projects: []string{"vision", "audio"}}, "ops": {Role: model.RoleOperator, Projects: []string{"vision"}}, "all": {Role: model.RoleViewer}}
	if got, found := g.Of([]string{"ml", "ops", "other"}); !found || got.Role != model.RoleOperator || strings.Join(got.Projects, " ") != "audio vision" {
		t.Errorf("two groups: %+v, %v", got, found)
	}
	if got, found := g.Of([]string{"other"}); found || got.Role != model.RoleNone {
		t.Errorf("no group: %+v, %v", got, found)
	}
	for address, ok := range map[string]bool{
		"https://login.example.org": true, "https://example.org/realms/x": true, "http://127.0.0.1:5556/dex": true, "http://localhost:1": true, "http://[::1]:1": true,
		"http://login.example.org": false, "http://10.0.0.1": false, "ftp://a": false, "": false, "https://a@b": false, "https://a?b=c": false, "https://": false,
	} {
		if err := CheckURL(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}
