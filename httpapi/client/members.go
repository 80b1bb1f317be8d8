package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Members lists, admits and refuses members of the cluster.
type Members struct{ client *Client }

// MembersOf returns the calls about members.
func MembersOf(c *Client) Members { return Members{c} }

// Join lets this machine join.
func (m Members) Join(ctx context.Context, body *wire.Join) (*wire.Joined, error) {
	out := &wire.Joined{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodPost, path: "/cluster/join"}, body, out)
}

// Standing returns whether the cluster takes a certificate, X.509 in DER.
func (m Members) Standing(ctx context.Context, certificate []byte) (*wire.Standing, error) {
	out := &wire.Standing{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodPost, path: "/cluster/standing"}, &wire.Presented{Certificate: certificate}, out)
}

// Certificates returns the newest certificate of each member.
func (m Members) Certificates(ctx context.Context) (*wire.Certificates, error) {
	out := &wire.Certificates{}
	_, err := m.client.calls.json(ctx, &request{method: http.MethodGet, path: "/cluster/certificates"}, out)
	return out, err
}

// Rotation returns how far the replacement of keys and certificates is.
func (m Members) Rotation(ctx context.Context) (*wire.Rotation, error) {
	out := &wire.Rotation{}
	_, err := m.client.calls.json(ctx, &request{method: http.MethodGet, path: "/cluster/rotation"}, out)
	return out, err
}

// Rotate begins to replace the authority ("ca"), or all certificates ("leaf").
func (m Members) Rotate(ctx context.Context, what string) (*wire.Rotation, error) {
	out := &wire.Rotation{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodPost, path: "/cluster/rotation"}, &wire.Rotate{Rotation: what}, out)
}

// AbortRotation ends a rotation whose next key is not in use yet.
func (m Members) AbortRotation(ctx context.Context) (*wire.Rotation, error) {
	out := &wire.Rotation{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodDelete, path: "/cluster/rotation"}, nil, out)
}

// Upgrade returns which members are to be upgraded, and whether the feature level is held.
func (m Members) Upgrade(ctx context.Context) (*wire.Upgrade, error) {
	out := &wire.Upgrade{}
	_, err := m.client.calls.json(ctx, &request{method: http.MethodGet, path: "/cluster/upgrade"}, out)
	return out, err
}

// Finalize raises the feature level at once.
func (m Members) Finalize(ctx context.Context) (*wire.Gone, error) {
	out := &wire.Gone{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodPost, path: "/cluster/upgrade/finalize"}, nil, out)
}

// LockRestart lets a peer restart, and no other meanwhile.
func (m Members) LockRestart(ctx context.Context, body *wire.RestartLock) (*wire.Gone, error) {
	out := &wire.Gone{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodPost, path: "/cluster/upgrade/lock"}, body, out)
}

// UnlockRestart frees the lock for restarts.
func (m Members) UnlockRestart(ctx context.Context, body *wire.RestartLock) (*wire.Gone, error) {
	out := &wire.Gone{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodPost, path: "/cluster/upgrade/unlock"}, body, out)
}

// RemovePeer removes a peer from the cluster.
func (m Members) RemovePeer(ctx context.Context, id string) (*wire.Gone, error) {
	out := &wire.Gone{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodDelete, path: "/cluster/peers/" + url.PathEscape(id)}, nil, out)
}

// PromotePeer gives a peer a vote at once.
func (m Members) PromotePeer(ctx context.Context, id string) (*wire.Gone, error) {
	out := &wire.Gone{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodPost, path: "/cluster/peers/" + url.PathEscape(id) + "/promote"}, nil, out)
}

// Transfer lets a peer lead.
func (m Members) Transfer(ctx context.Context, id string) (*wire.Gone, error) {
	out := &wire.Gone{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodPost, path: "/cluster/peers/" + url.PathEscape(id) + "/lead"}, nil, out)
}

// Resume lets the scheduler start jobs again, after a restore; force: although jobs would run a second time.
func (m Members) Resume(ctx context.Context, force bool) (*wire.Gone, error) {
	out, q := &wire.Gone{}, &request{method: http.MethodPost, path: "/cluster/resume"}
	if force {
		q.query = url.Values{"force": {"true"}}
	}
	return out, m.client.calls.change(ctx, q, nil, out)
}

// Revoke makes the cluster refuse all certificates that a member has so far.
//
// With force also those of a peer without which the cluster stops.
func (m Members) Revoke(ctx context.Context, role, name string, force bool) (*wire.Gone, error) {
	out := &wire.Gone{}
	r := &request{method: http.MethodDelete, path: "/cluster/certificates/" + url.PathEscape(role) + "/" + url.PathEscape(name)}
	if force {
		r.query = url.Values{"force": {"true"}}
	}
	return out, m.client.calls.change(ctx, r, nil, out)
}

// Probe has every peer connect to a member at the addresses that the cluster has of the member. Agents leave the member out.
func (m Members) Probe(ctx context.Context, of *wire.Probe) (*wire.Probed, error) {
	out := &wire.Probed{}
	return out, m.client.calls.change(ctx, &request{method: http.MethodPost, path: "/cluster/probe"}, of, out)
}
