package client

import (
	"context"
	"net/http"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Provider returns the identity provider at which users of the cluster sign in.
func (p People) Provider(ctx context.Context) (*wire.Provider, error) {
	out := &wire.Provider{}
	_, err := p.client.calls.json(ctx, &request{method: http.MethodGet, path: "/oidc"}, out)
	return out, err
}

// BeginSignIn begins a sign-in at the identity provider, which the user goes on with in a browser.
func (p People) BeginSignIn(ctx context.Context) (*wire.Device, error) {
	out := &wire.Device{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodPost, path: "/oidc/device"}, nil, out)
}

// SignIn returns a token of the cluster for a sign-in at the identity provider, or that the user has not signed in there yet.
func (p People) SignIn(ctx context.Context, body *wire.ProviderSignIn) (*wire.ProviderToken, error) {
	out := &wire.ProviderToken{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodPost, path: "/oidc/token"}, body, out)
}
