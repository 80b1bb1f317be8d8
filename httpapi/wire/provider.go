package wire

import (
	"time"
)

// Provider is the answer to GET /oidc: the identity provider at which users of the cluster sign in.
type Provider struct {
	Issuer   string   `json:"issuer"`
	ClientID string   `json:"client_id"`
	Audience string   `json:"audience" doc:"that a token of the provider must name (aud) to be accepted in place of a token"`
	Scopes   []string `json:"scopes" nullable:"false" doc:"that a sign-in asks for"`
	Device   string   `json:"device_authorization_endpoint,omitempty" doc:"of the provider; absent: it offers no sign-in on another device"`
}

// Device is the answer to POST /oidc/device: a sign-in that the user goes on with in a browser, on any machine (RFC 8628).
type Device struct {
	Success   bool      `json:"success"`
	Code      string    `json:"device_code" doc:"for POST /oidc/token, and for no other caller"`
	UserCode  string    `json:"user_code" doc:"that the user enters at the address"`
	Address   string    `json:"verification_uri"`
	Complete  string    `json:"verification_uri_complete,omitempty" doc:"the address with the code in it"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Interval  int64     `json:"interval" doc:"seconds to wait between two questions"`
}

// ProviderSignIn is the body of POST /oidc/token: an ID token or a device code, not both.
type ProviderSignIn struct {
	IDToken string `json:"id_token,omitempty" doc:"that the provider has issued"`
	Device  string `json:"device_code,omitempty" doc:"from POST /oidc/device"`
	Name    string `json:"name,omitempty" doc:"of the new token, for users"`
}

// ProviderToken is the answer to POST /oidc/token.
type ProviderToken struct {
	Success bool   `json:"success"`
	Pending bool   `json:"pending,omitempty" doc:"the user has not signed in at the provider yet: ask again after the interval"`
	Slower  bool   `json:"slow_down,omitempty" doc:"the question came too early: the interval is 5 s longer from now on"`
	Secret  string `json:"token,omitempty" doc:"a token of the cluster, which is shown only once"`
	Token   *Token `json:"made,omitempty" doc:"the token without its secret"`
}
