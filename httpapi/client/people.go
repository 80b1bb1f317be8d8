package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// People tells and changes who is known, and by which tokens.
type People struct{ client *Client }

// PeopleOf are the calls about who is known, by a client.
func PeopleOf(c *Client) People { return People{c} }

// Whoami tells whom the cluster takes the caller for.
func (p People) Whoami(ctx context.Context) (*wire.Whoami, error) {
	out := &wire.Whoami{}
	_, err := p.client.calls.json(ctx, &request{method: http.MethodGet, path: "/whoami"}, out)
	return out, err
}

// Tokens lists all tokens, without what they are.
func (p People) Tokens(ctx context.Context) (*wire.Tokens, error) {
	out := &wire.Tokens{}
	_, err := p.client.calls.json(ctx, &request{method: http.MethodGet, path: "/tokens"}, out)
	return out, err
}

// MakeToken makes a token, which the answer tells and nothing else ever does.
func (p People) MakeToken(ctx context.Context, body *wire.MakeToken) (*wire.MadeToken, error) {
	out := &wire.MadeToken{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodPost, path: "/tokens"}, body, out)
}

// DropToken revokes a token by its id.
func (p People) DropToken(ctx context.Context, id string) (*wire.Gone, error) {
	out := &wire.Gone{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodDelete, path: "/tokens/" + url.PathEscape(id)}, nil, out)
}

// Users lists everybody whom the cluster knows.
func (p People) Users(ctx context.Context) (*wire.Users, error) {
	out := &wire.Users{}
	_, err := p.client.calls.json(ctx, &request{method: http.MethodGet, path: "/users"}, out)
	return out, err
}

// SetUser makes a user known, or changes what they may.
func (p People) SetUser(ctx context.Context, name string, body *wire.SetUser) (*wire.User, error) {
	out := &wire.User{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodPut, path: "/users/" + url.PathEscape(name)}, body, out)
}

// RemoveUser forgets a user, with their tokens; their jobs stay.
func (p People) RemoveUser(ctx context.Context, name string) (*wire.Gone, error) {
	out := &wire.Gone{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodDelete, path: "/users/" + url.PathEscape(name)}, nil, out)
}
