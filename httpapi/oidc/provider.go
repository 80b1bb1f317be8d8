package oidc

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
)

// Times of fetching the provider's document and keys.
const (
	again  = 10 * time.Second // at the earliest after another try
	oldest = time.Hour        // after which what is known is fetched again, while it is used
)

// maxAnswer bounds an answer of the provider, in bytes.
const maxAnswer = 1 << 20

// ErrDown is the error while the provider cannot be asked, and what it would answer is not known.
var ErrDown = errors.New("the identity provider does not answer as it should")

// Provider is an identity provider.
type Provider struct {
	Connection

	now    func() time.Time
	client *http.Client
	asks   *auth.Limiter // of requests of a sign-in to the provider
	own    *auth.Limiter // the same, of one network of callers

	mu       sync.Mutex
	found    *document     // nil: nothing is known yet
	failure  error         // of the last try
	tried    time.Time     // the last try
	fetching chan struct{} // closed after the try that is under way; nil: none is
	known    map[model.Hash]*Account
}

// document is what the provider publishes. It is immutable.
type document struct {
	device, token string // endpoints
	keys          []jose.JSONWebKey
	at            time.Time
}

// Bounds of the requests that sign-ins cause at the provider, in a second: a fifth of them for one network of callers, so that a stranger's
// flood keeps no other user from a sign-in.
const (
	asksPerSecond = 20
	ownPerSecond  = asksPerSecond / 5
)

// New returns a provider, which is asked for its document when that is needed first.
func New(c Connection, now func() time.Time) *Provider {
	return &Provider{
		Connection: c, now: now, client: c.client(), asks: auth.NewLimiter(asksPerSecond, now),
		own: auth.NewLimiter(ownPerSecond, now), known: map[model.Hash]*Account{},
	}
}

// present returns what the provider has published, and whether a key is among it; an empty id stands for any key. If that is old,
// it is fetched again in the background.
func (p *Provider) present(kid string) (d *document, has bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		return nil, false
	}
	if p.now().Sub(p.found.at) >= oldest {
		p.start()
	}
	return p.found, len(p.found.keysOf(kid)) > 0
}

// keysOf returns the public keys with an id, of the kinds that sign tokens.
func (d *document) keysOf(kid string) (out []crypto.PublicKey) {
	for _, k := range d.keys {
		if kid != "" && k.KeyID != kid {
			continue
		}
		switch k.Key.(type) {
		case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
			out = append(out, k.Key)
		}
	}
	return out
}

// document returns what the provider has published, with a key if it has one. It waits for the provider only if that is not known
// yet: callers with known keys never wait for others.
func (p *Provider) document(ctx context.Context, kid string) (*document, error) {
	d, has := p.present(kid)
	if has {
		return d, nil
	}
	p.mu.Lock()
	wait := p.start()
	p.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
		}
	}
	if d, _ = p.present(kid); d == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		return nil, errors.Join(ErrDown, p.failure)
	}
	return d, nil
}

// start fetches the document in the background, unless that was tried a moment ago, and returns what is closed after that; nil: it
// is not fetched. The caller holds the lock.
func (p *Provider) start() <-chan struct{} {
	if p.fetching != nil {
		return p.fetching
	}
	now := p.now()
	if !p.tried.IsZero() && now.Sub(p.tried) < again {
		return nil
	}
	p.tried, p.fetching = now, make(chan struct{})
	done := p.fetching
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.Background(), 2*requestLimit)
		defer cancel()
		d, err := p.fetch(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.failure, p.fetching = err, nil
		if err == nil {
			p.found = d
		}
	}()
	return done
}

// fetch fetches the provider's document and its keys.
func (p *Provider) fetch(ctx context.Context) (*document, error) {
	discovered, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		Keys string `json:"jwks_uri"`
	}
	if err := discovered.Claims(&more); err != nil {
		return nil, err
	}
	to := discovered.Endpoint()
	for _, address := range []string{more.Keys, to.TokenURL, to.DeviceAuthURL} {
		if err := CheckURL(address); address != "" && err != nil {
			return nil, err
		}
	}
	d := &document{device: to.DeviceAuthURL, token: to.TokenURL, at: p.now()}
	d.keys, err = p.fetchKeys(ctx, more.Keys)
	return d, err
}

// fetchKeys fetches the provider's keys. Keys of kinds that are not known are left out.
func (p *Provider) fetchKeys(ctx context.Context, address string) (out []jose.JSONWebKey, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if answer.StatusCode != http.StatusOK || json.Unmarshal(text, &set) != nil {
		return nil, fmt.Errorf("%s answers with status %d and no set of keys", address, answer.StatusCode)
	}
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		if json.Unmarshal(raw, &k) == nil && k.Valid() && k.IsPublic() && (k.Use == "" || k.Use == "sig") {
			out = append(out, k)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no key that signs tokens", address)
	}
	return out, nil
}

// maxKnown bounds the accounts that are remembered, so that their tokens need not be verified again.
const maxKnown = 10_000

// Known returns the account of a token that was verified here before, by the token's hash.
func (p *Provider) Known(token model.Hash) (*Account, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, found := p.known[token]
	return a, found
}

// keep remembers the account of a token.
func (p *Provider) keep(token model.Hash, a *Account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxKnown {
		now := model.TimeOf(p.now())
		for hash, one := range p.known { // order-free: all that have expired
			if !one.Good(now) {
				delete(p.known, hash)
			}
		}
	}
	for hash := range p.known { // order-free: any of them is verified again when it is shown
		if len(p.known) < maxKnown {
			break
		}
		delete(p.known, hash)
	}
	p.known[token] = a
}
