// Package oidctest is an identity provider (OpenID Connect) for tests, whose tokens may be as wrong as a test needs.
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Client is the id of the client that tokens are for.
const Client = "berth"

// keyBits is the size of a key: the smallest that the library accepts without a warning.
const keyBits = 2048

// TB is the part of testing.TB that reports what a test cannot go on without.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Provider is an identity provider, which listens on a loopback address.
type Provider struct {
	Now func() time.Time

	tb     TB
	server *httptest.Server

	mu      sync.Mutex
	keys    []jose.JSONWebKey // private; the first signs
	made    int
	down    bool
	fetched int                // sets of keys
	devices map[string]*device // by device code
	secret  string
}

// device is a sign-in on another device.
type device struct {
	answer string // of the token endpoint: an error's code, or an ID token
	done   bool
}

// New starts a provider with one key.
func New(tb TB, now func() time.Time) *Provider {
	p := &Provider{Now: now, tb: tb, devices: map[string]*device{}}
	p.Rotate()
	m := http.NewServeMux()
	m.HandleFunc("GET /.well-known/openid-configuration", p.document)
	m.HandleFunc("GET /keys", p.publish)
	m.HandleFunc("POST /device", p.begin)
	m.HandleFunc("POST /token", p.token)
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		down := p.down
		p.mu.Unlock()
		if down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		m.ServeHTTP(w, r)
	}))
	return p
}

// Close ends the provider.
func (p *Provider) Close() { p.server.Close() }

// Issuer returns the URL of the provider.
func (p *Provider) Issuer() string { return p.server.URL }

// Rotate replaces the keys by another one.
func (p *Provider) Rotate() {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	p.keys = []jose.JSONWebKey{{Key: key, KeyID: fmt.Sprintf("key-%d", p.made), Algorithm: string(jose.RS256), Use: "sig"}}
}

// Key returns the key that signs.
func (p *Provider) Key() jose.JSONWebKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[0]
}

// Down has the provider fail from now on, or work again.
func (p *Provider) Down(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// Secret has the provider demand a secret of its client.
func (p *Provider) Secret(secret string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secret = secret
}

// Fetched returns how often the keys were fetched.
func (p *Provider) Fetched() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetched
}

// Claims returns the claims of a token of an account, which is valid for ten minutes.
func (p *Provider) Claims(subject, name string, groups ...string) map[string]any {
	now := p.Now()
	return map[string]any{
		"iss": p.Issuer(), "aud": Client, "sub": subject, "preferred_username": name, "groups": groups, "iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(),
	}
}

// Token returns a token with claims, signed by the present key.
func (p *Provider) Token(claims map[string]any) string {
	key := p.Key()
	return Sign(p.tb, jose.SigningKey{Algorithm: jose.RS256, Key: key}, claims)
}

// Sign returns a token with claims, signed in any way.
func Sign(tb TB, by jose.SigningKey, claims map[string]any) string {
	tb.Helper()
	signer, err := jose.NewSigner(by, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		tb.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func (p *Provider) document(w http.ResponseWriter, _ *http.Request) {
	at := p.Issuer()
	answer(w, http.StatusOK, map[string]any{
		"issuer": at, "jwks_uri": at + "/keys", "token_endpoint": at + "/token", "authorization_endpoint": at + "/auth", "device_authorization_endpoint": at + "/device",
		"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
	})
}

func (p *Provider) publish(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetched++
	keys := []any{map[string]any{"kty": "unheard-of", "kid": "odd"}}
	for _, k := range p.keys {
		keys = append(keys, k.Public())
	}
	answer(w, http.StatusOK, map[string]any{"keys": keys})
}

// begin begins a sign-in on another device, whose user code is the device code in capitals.
func (p *Provider) begin(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.FormValue("client_id") != Client || r.FormValue("client_secret") != p.secret {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	code := fmt.Sprintf("device-%d", len(p.devices)+1)
	p.devices[code] = &device{answer: "authorization_pending"}
	answer(w, http.StatusOK, map[string]any{
		"device_code": code, "user_code": strings.ToUpper(code), "verification_uri": p.Issuer() + "/enter", "expires_in": 300, "interval": 1,
	})
}

// Enter has a user decide about the sign-in with a user code: with an ID token, or with the code of an error.
func (p *Provider) Enter(userCode, answer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.devices[strings.ToLower(userCode)]
	one.answer, one.done = answer, strings.HasPrefix(answer, "eyJ")
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.devices[r.FormValue("device_code")]
	switch {
	case r.FormValue("client_id") != Client || r.FormValue("client_secret") != p.secret:
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
	case one == nil || r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:device_code":
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
	case one.done:
		delete(p.devices, r.FormValue("device_code"))
		answer(w, http.StatusOK, map[string]any{"access_token": "opaque", "token_type": "Bearer", "id_token": one.answer})
	default:
		answer(w, http.StatusBadRequest, map[string]any{"error": one.answer})
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a caller that is gone is none of the provider's faults
}
