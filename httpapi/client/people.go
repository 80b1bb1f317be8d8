package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// People lists and changes users and tokens.
type People struct{ client *Client }

// PeopleOf returns the calls about users and tokens.
func PeopleOf(c *Client) People { return People{c} }

// Whoami returns the caller's user and rights.
func (p People) Whoami(ctx context.Context) (*wire.Whoami, error) {
	out := &wire.Whoami{}
	_, err := p.client.calls.json(ctx, &request{method: http.MethodGet, path: "/whoami"}, out)
	return out, err
}

// Tokens returns the caller's tokens without their secrets, for admins those of all; with a user, of that one only.
func (p People) Tokens(ctx context.Context, user string) (*wire.Tokens, error) {
	v := url.Values{}
	text(v, "user", user)
	out := &wire.Tokens{}
	_, err := p.client.calls.json(ctx, &request{method: http.MethodGet, path: "/tokens", query: v}, out)
	return out, err
}

// MakeToken makes a token. The token is only in this answer.
func (p People) MakeToken(ctx context.Context, body *wire.MakeToken) (*wire.MadeToken, error) {
	out := &wire.MadeToken{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodPost, path: "/tokens"}, body, out)
}

// DropToken revokes a token by its id.
func (p People) DropToken(ctx context.Context, id string) (*wire.Gone, error) {
	out := &wire.Gone{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodDelete, path: "/tokens/" + url.PathEscape(id)}, nil, out)
}

// Users returns the users of the cluster.
func (p People) Users(ctx context.Context) (*wire.Users, error) {
	out := &wire.Users{}
	_, err := p.client.calls.json(ctx, &request{method: http.MethodGet, path: "/users"}, out)
	return out, err
}

// SetUser adds a user, or changes a user's rights.
func (p People) SetUser(ctx context.Context, name string, body *wire.SetUser) (*wire.User, error) {
	out := &wire.User{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodPut, path: "/users/" + url.PathEscape(name)}, body, out)
}

// RemoveUser removes a user together with their tokens; their jobs stay.
func (p People) RemoveUser(ctx context.Context, name string) (*wire.Gone, error) {
	out := &wire.Gone{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodDelete, path: "/users/" + url.PathEscape(name)}, nil, out)
}
