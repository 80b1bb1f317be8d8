package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
)

// Account is a user of the provider, as a verified token states it.
type Account struct {
	Name    string // of the user here
	Subject model.Hash
	Groups  []string
	Issued  model.Time
	Expires model.Time
}

// Good reports whether the token has not expired.
func (a *Account) Good(now model.Time) bool { return now < a.Expires }

// RefusedError is why a token of the provider is not accepted. It quotes no part of the token but its claims.
type RefusedError struct{ Reason string }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

func refuse(format string, args ...any) error {
	return &RefusedError{"the token of the identity provider is refused: " + fmt.Sprintf(format, args...)}
}

// algorithms returns the signature algorithms that are accepted (RFC 7518, RFC 8037): those with a public key, never "none", and none
// with a shared secret, which the public key could be taken for.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384,
		jose.ES512, jose.EdDSA,
	}
}

// skew is how far the clock of the provider may be ahead.
const skew = time.Minute

// Verify returns the account that a token of the provider is of: an ID token, or an access token that is a JWT. The error is a
// [RefusedError], or [ErrDown].
func (p *Provider) Verify(ctx context.Context, token string) (*Account, error) {
	hash := auth.HashOf(token)
	if a, found := p.Known(hash); found && a.Good(model.TimeOf(p.now())) {
		return a, nil
	}
	jws, err := jose.ParseSignedCompact(token, algorithms())
	if err != nil || len(jws.Signatures) != 1 {
		return nil, refuse("it is no JWT with one signature of an accepted algorithm (RS256 to RS512, PS256 to PS512, ES256 to ES512, EdDSA)")
	}
	kid := jws.Signatures[0].Header.KeyID
	d, err := p.document(ctx, kid)
	if err != nil {
		return nil, err
	}
	keys := d.keysOf(kid)
	if len(keys) == 0 {
		return nil, refuse("the provider has no key with the id %q: sign in again", model.Clip(kid))
	}
	if _, err := (&oidc.StaticKeySet{PublicKeys: keys}).VerifySignature(ctx, token); err != nil {
		return nil, refuse("its signature is not by a key of the provider")
	}
	config := &oidc.Config{ClientID: p.Audience, Now: p.now}
	for _, name := range algorithms() {
		config.SupportedSigningAlgs = append(config.SupportedSigningAlgs, string(name))
	}
	verified, err := oidc.NewVerifier(p.Issuer, &oidc.StaticKeySet{PublicKeys: keys}, config).Verify(ctx, token)
	if expired, is := errors.AsType[*oidc.TokenExpiredError](err); is {
		return nil, refuse("it has expired at %s: sign in again", expired.Expiry.UTC().Format(time.RFC3339))
	}
	if err != nil {
		return nil, refuse("%s", strings.TrimPrefix(err.Error(), "oidc: "))
	}
	a, err := p.account(verified)
	if err == nil {
		p.keep(hash, a)
	}
	return a, err
}

// account reads the claims of a verified token.
func (p *Provider) account(t *oidc.IDToken) (*Account, error) {
	var claims map[string]json.RawMessage
	if err := t.Claims(&claims); err != nil {
		return nil, refuse("its claims cannot be read")
	}
	now := p.now()
	switch {
	case t.Subject == "":
		return nil, refuse("it has no claim sub")
	case t.IssuedAt.IsZero() || t.IssuedAt.Unix() <= 0:
		return nil, refuse("it has no claim iat")
	case t.IssuedAt.After(now.Add(skew)):
		return nil, refuse("its claim iat, %s, is in the future: the clocks of the provider and of this peer differ", t.IssuedAt.UTC().Format(time.RFC3339))
	case !t.Expiry.After(t.IssuedAt):
		return nil, refuse("its claim exp is not after its claim iat")
	}
	if verified, is := claims["email_verified"]; is && p.UserClaim == "email" && string(verified) != "true" && string(verified) != `"true"` {
		return nil, refuse("its claim email_verified is not true, so that anybody may have chosen the address")
	}
	name, is := textOf(claims[p.UserClaim])
	if !is || name == "" {
		return nil, refuse("it has no claim %s with the user's name: name another with oidc.user_claim, or ask for the scope that adds it", p.UserClaim)
	}
	if !model.Name(name) {
		return nil, refuse("its claim %s cannot be the name of a user: %v", p.UserClaim, model.WantName("user", name))
	}
	a := &Account{Name: name, Subject: subjectOf(p.Issuer, t.Subject), Issued: model.TimeOf(t.IssuedAt), Expires: model.TimeOf(t.Expiry)}
	if raw, given := claims[p.GroupsClaim]; given && string(raw) != "null" {
		if one, is := textOf(raw); is {
			a.Groups = []string{one}
		} else if json.Unmarshal(raw, &a.Groups) != nil {
			return nil, refuse("its claim %s is no list of names", p.GroupsClaim)
		}
	}
	return a, nil
}

func textOf(raw json.RawMessage) (text string, is bool) {
	return text, json.Unmarshal(raw, &text) == nil
}

// subjectOf returns the hash of an account, by which the account is recognized even under another name.
func subjectOf(issuer, subject string) model.Hash {
	return sha256.Sum256([]byte(issuer + "\x00" + subject))
}
