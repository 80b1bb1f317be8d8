package oidc

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
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
	d, err := p.Begin(t.Context(), "192.0.2.9")
	if err != nil || d.UserCode != "DEVICE-1" || d.Interval != 1 || d.VerificationURI == "" {
		t.Fatalf("begun with %+v, %v", d, err)
	}
	for answer, want := range map[string]Progress{"authorization_pending": Pending, "slow_down": Slower} {
		from.Enter(d.UserCode, answer)
		if token, at, err := p.Poll(t.Context(), d.DeviceCode, "192.0.2.9"); err != nil || at != want || token != "" {
			t.Errorf("%s: %q, %d, %v", answer, token, at, err)
		}
	}
	for answer, want := range map[string]string{"access_denied": "was refused", "expired_token": "has expired", "invalid_scope": "invalid_scope"} {
		from.Enter(d.UserCode, answer)
		_, _, err := p.Poll(t.Context(), d.DeviceCode, "192.0.2.9")
		if refused, is := errors.AsType[*RefusedError](err); !is || !strings.Contains(refused.Reason, want) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
	}
	token := from.Token(from.Claims("s1", "alice", "ml"))
	from.Enter(d.UserCode, token)
	if got, at, err := p.Poll(t.Context(), d.DeviceCode, "192.0.2.9"); err != nil || at != Done || got != token {
		t.Errorf("signed in: %q, %d, %v", got, at, err)
	}
	if _, _, err := p.Poll(t.Context(), d.DeviceCode, "192.0.2.9"); err == nil || !strings.Contains(err.Error(), "was used") {
		t.Errorf("the code is good twice: %v", err)
	}
}

// A client with a secret shows it, and one without it is refused.
func TestDeviceSecret(t *testing.T) {
	t.Parallel()
	from, p, _ := pair(t)
	from.Secret("of the client")
	if _, err := p.Begin(t.Context(), "192.0.2.9"); err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("without the secret: %v", err)
	}
	c := connect(from)
	c.Secret = "of the client"
	p = New(c, from.Now)
	d, err := p.Begin(t.Context(), "192.0.2.9")
	if err != nil {
		t.Fatal(err)
	}
	if _, at, err := p.Poll(t.Context(), d.DeviceCode, "192.0.2.9"); err != nil || at != Pending {
		t.Errorf("with the secret: %d, %v", at, err)
	}
	from.Down(true)
	if _, _, err := p.Poll(t.Context(), d.DeviceCode, "192.0.2.9"); !errors.Is(err, ErrDown) {
		t.Errorf("while the provider is down: %v", err)
	}
}

// Sign-ins cannot flood the provider, and those of one network leave room for others.
func TestDeviceBusy(t *testing.T) {
	t.Parallel()
	_, p, _ := pair(t)
	begin := func(from string) (begun int) {
		for range 3 * asksPerSecond {
			if _, err := p.Begin(t.Context(), from); err != nil {
				if busy, is := errors.AsType[*BusyError](err); !is || busy.Wait <= 0 {
					t.Errorf("refused with %v", err)
				}
				return begun
			}
			begun++
		}
		return begun
	}
	if n := begin("192.0.2.1"); n == 0 || n > 2*ownPerSecond {
		t.Errorf("a stranger begins %d sign-ins in an instant", n)
	}
	if _, err := p.Begin(t.Context(), "192.0.2.2"); err != nil {
		t.Errorf("after that no other caller begins one: %v", err)
	}
	all := 0
	for i := range 20 {
		all += begin(fmt.Sprintf("198.51.100.%d", i))
	}
	if all > 2*asksPerSecond {
		t.Errorf("%d sign-ins are begun in an instant", all)
	}
}

// The rights of several groups are the highest role and all projects.
func TestGroups(t *testing.T) {
	t.Parallel()
	g := Groups{
		"ml": {Role: model.RoleUser, Projects: []string{"vision", "audio"}}, "ops": {Role: model.RoleOperator, Projects: []string{"vision"}},
		"all": {Role: model.RoleViewer},
	}
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
