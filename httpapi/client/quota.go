package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Quotas shows and changes limits, shares and pools.
type Quotas struct{ client *Client }

// Quotas returns the calls about limits, shares and pools.
func (c Operator) Quotas() Quotas { return Quotas(c) }

// List returns the limits of the cluster, projects and users, and their use; with all also projects
// and users with use but without limits.
func (q Quotas) List(ctx context.Context, all bool) (*wire.Quotas, error) {
	v := url.Values{}
	if all {
		v.Set("all", "true")
	}
	out := &wire.Quotas{}
	_, err := q.client.calls.json(ctx, &request{method: http.MethodGet, path: "/quotas", query: v}, out)
	return out, err
}

// Set changes the limits in the body, for the "project" or "user" of a name, or for the "cluster"
// without a name.
func (q Quotas) Set(ctx context.Context, scope, name string, body *wire.SetQuota) (*wire.Quota, error) {
	out := &wire.Quota{}
	return out, q.client.calls.change(ctx, &request{method: http.MethodPut, path: scopePath("/quotas/", scope, name)}, body, out)
}

// Shares returns the recent use of projects and users, and their fair share.
func (q Quotas) Shares(ctx context.Context) (*wire.Shares, error) {
	out := &wire.Shares{}
	_, err := q.client.calls.json(ctx, &request{method: http.MethodGet, path: "/shares"}, out)
	return out, err
}

// SetShares sets the share of a project or user, relative to others: 1 to 10,000.
func (q Quotas) SetShares(ctx context.Context, scope, name string, shares int64) (*wire.Weight, error) {
	out := &wire.Weight{}
	r := &request{method: http.MethodPut, path: scopePath("/shares/", scope, name)}
	return out, q.client.calls.change(ctx, r, &wire.SetShares{Shares: &shares}, out)
}

// Allocation returns how strictly GPUs are guaranteed.
func (q Quotas) Allocation(ctx context.Context) (*wire.Allocation, error) {
	out := &wire.Allocation{}
	_, err := q.client.calls.json(ctx, &request{method: http.MethodGet, path: "/orchestrator/allocation"}, out)
	return out, err
}

// SetAllocation changes how strictly GPUs are guaranteed.
func (q Quotas) SetAllocation(ctx context.Context, body *wire.SetAllocation) (*wire.Allocation, error) {
	out := &wire.Allocation{}
	return out, q.client.calls.change(ctx, &request{method: http.MethodPut, path: "/orchestrator/allocation"}, body, out)
}

func scopePath(root, scope, name string) string {
	path := root + url.PathEscape(scope)
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}
