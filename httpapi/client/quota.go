package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Quotas tells and changes what may be used, and by whom.
type Quotas struct{ client *Client }

// Quotas is what tells and changes who may use what.
func (c Operator) Quotas() Quotas { return Quotas(c) }

// List tells the limits of the cluster, projects and users, and what is used of them;
// with all also of those who use something without having limits.
func (q Quotas) List(ctx context.Context, all bool) (*wire.Quotas, error) {
	v := url.Values{}
	if all {
		v.Set("all", "true")
	}
	out := &wire.Quotas{}
	_, err := q.client.calls.json(ctx, &request{method: http.MethodGet, path: "/quotas", query: v}, out)
	return out, err
}

// Set changes the limits that the body names, of "project" or "user" name, or of
// "cluster" without a name.
func (q Quotas) Set(ctx context.Context, scope, name string, body *wire.SetQuota) (*wire.Quota, error) {
	out := &wire.Quota{}
	return out, q.client.calls.change(ctx, &request{method: http.MethodPut, path: scopePath("/quotas/", scope, name)}, body, out)
}

// Shares tells what projects and users have used lately, beside what is fair.
func (q Quotas) Shares(ctx context.Context) (*wire.Shares, error) {
	out := &wire.Shares{}
	_, err := q.client.calls.json(ctx, &request{method: http.MethodGet, path: "/shares"}, out)
	return out, err
}

// SetShares says how much a project or user should get beside others: 1 to 10,000.
func (q Quotas) SetShares(ctx context.Context, scope, name string, shares int64) (*wire.Weight, error) {
	out := &wire.Weight{}
	r := &request{method: http.MethodPut, path: scopePath("/shares/", scope, name)}
	return out, q.client.calls.change(ctx, r, &wire.SetShares{Shares: &shares}, out)
}

// Allocation tells how strictly GPUs belong to their owners.
func (q Quotas) Allocation(ctx context.Context) (*wire.Allocation, error) {
	out := &wire.Allocation{}
	_, err := q.client.calls.json(ctx, &request{method: http.MethodGet, path: "/orchestrator/allocation"}, out)
	return out, err
}

// SetAllocation changes how strictly GPUs belong to their owners.
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
