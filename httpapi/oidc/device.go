package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
)

// BusyError is the error of a sign-in while there are too many.
type BusyError struct{ Wait time.Duration }

// Error names the time to wait.
func (e *BusyError) Error() string {
	return "too many sign-ins at once: try again in " + e.Wait.Round(time.Millisecond).String()
}

// Device returns the endpoint for sign-ins on another device; empty: the provider offers none. The error is [ErrDown].
func (p *Provider) Device(ctx context.Context) (string, error) {
	d, err := p.document(ctx, "")
	if err != nil {
		return "", err
	}
	return d.device, nil
}

// ready returns the provider's document once another request to the provider may be sent for a caller at an address.
func (p *Provider) ready(ctx context.Context, from string) (*document, error) {
	if wait := p.own.Take(auth.Network(from), 1); wait > 0 {
		return nil, &BusyError{wait}
	}
	if wait := p.asks.Take("", 1); wait > 0 {
		return nil, &BusyError{wait}
	}
	d, err := p.document(ctx, "")
	if err == nil && d.device == "" {
		return nil, &RefusedError{"the identity provider " + p.Issuer + " offers no sign-in on another device (RFC 8628): use a token that it has issued, or one of an admin"}
	}
	return d, err
}

// Begin begins a sign-in on another device for a caller at an address (RFC 8628, section 3.1). The error is a [RefusedError], a [BusyError]
// or [ErrDown].
func (p *Provider) Begin(ctx context.Context, from string) (*oauth2.DeviceAuthResponse, error) {
	d, err := p.ready(ctx, from)
	if err != nil {
		return nil, err
	}
	config := oauth2.Config{ClientID: p.ClientID, Scopes: p.ScopeList(), Endpoint: oauth2.Endpoint{DeviceAuthURL: d.device}}
	var more []oauth2.AuthCodeOption
	if p.Secret != "" {
		more = append(more, oauth2.SetAuthURLParam("client_secret", p.Secret))
	}
	begun, err := config.DeviceAuth(oidc.ClientContext(ctx, p.client), more...)
	if refused, is := errors.AsType[*oauth2.RetrieveError](err); is {
		return nil, &RefusedError{said("the identity provider does not begin a sign-in", refused.ErrorCode, refused.ErrorDescription)}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDown, err)
	}
	return begun, nil
}

// said returns an error of the provider as a sentence.
func said(what, code, description string) string {
	if code == "" {
		code = "without a reason"
	}
	if description != "" && model.Text(description, model.MaxName) {
		code += ", " + description
	}
	return what + ": " + model.Clip(code)
}

// Progress is how far a sign-in on another device is.
type Progress uint8

// The progress.
const (
	Done    Progress = iota
	Pending          // the user has not signed in yet
	Slower           // the same, and the question came too early: the interval is 5 s longer from now on
)

// grant is the type of the grant of a device code (RFC 8628, section 3.4).
const grant = "urn:ietf:params:oauth:grant-type:device_code"

// Poll asks the provider once, for a caller at an address, whether the user has signed in, and returns the ID token (RFC 8628, sections 3.4
// and 3.5). The error is a [RefusedError], a [BusyError] or [ErrDown].
func (p *Provider) Poll(ctx context.Context, device, from string) (token string, at Progress, err error) {
	d, err := p.ready(ctx, from)
	if err != nil {
		return "", Pending, err
	}
	form := url.Values{"grant_type": {grant}, "device_code": {device}, "client_id": {p.ClientID}}
	if p.Secret != "" {
		form.Set("client_secret", p.Secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.token, strings.NewReader(form.Encode()))
	if err != nil {
		return "", Pending, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	answer, err := p.client.Do(r)
	if err != nil {
		return "", Pending, fmt.Errorf("%w: %w", ErrDown, err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return "", Pending, fmt.Errorf("%w: %w", ErrDown, err)
	}
	return judge(answer.StatusCode, text)
}

// judge reads an answer of the token endpoint.
func judge(status int, text []byte) (token string, at Progress, err error) {
	var out struct {
		IDToken     string `json:"id_token"`
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	parsed := json.Unmarshal(text, &out) == nil
	switch {
	case parsed && out.Code == "authorization_pending":
		return "", Pending, nil
	case parsed && out.Code == "slow_down":
		return "", Slower, nil
	case parsed && out.Code == "access_denied":
		return "", Pending, &RefusedError{"the sign-in was refused at the identity provider: sign in again, and confirm the code there"}
	case parsed && (out.Code == "expired_token" || out.Code == "invalid_grant"):
		return "", Pending, &RefusedError{"the code of this sign-in has expired or was used: sign in again"}
	case parsed && out.Code != "":
		return "", Pending, &RefusedError{said("the identity provider refuses the sign-in", out.Code, out.Description)}
	case status != http.StatusOK || !parsed:
		return "", Pending, fmt.Errorf("%w: its token endpoint answers with status %d", ErrDown, status)
	case out.IDToken == "":
		return "", Pending, &RefusedError{"the identity provider has returned no ID token: the scope openid must be among oidc.scopes"}
	}
	return out.IDToken, Done, nil
}
