package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Services allocates GPUs without a job, and releases them.
type Services struct{ client *Client }

// ServicesOf returns the calls about GPUs without a job.
func ServicesOf(c *Client) Services { return Services{c} }

// Allocate asks for GPUs. The answer shows whether they are allocated, or waited for.
func (s Services) Allocate(ctx context.Context, body *wire.Allocate) (*wire.Allocated, error) {
	out := &wire.Allocated{}
	return out, s.client.calls.change(ctx, &request{method: http.MethodPost, path: "/gpu/allocate"}, body, out)
}

// Release releases an allocation, or removes it from the queue.
func (s Services) Release(ctx context.Context, id string) (*wire.Allocated, error) {
	out := &wire.Allocated{}
	return out, s.client.calls.change(ctx, &request{method: http.MethodPost, path: "/gpu/release"}, &wire.Release{AllocationID: id}, out)
}

// Renew holds an allocation for its time again, or for another one.
func (s Services) Renew(ctx context.Context, id string, ttl *wire.Duration) (*wire.Allocated, error) {
	out := &wire.Allocated{}
	q := &request{method: http.MethodPost, path: "/gpu/allocations/" + url.PathEscape(id) + "/renew"}
	return out, s.client.calls.change(ctx, q, &wire.RenewAllocation{TTL: ttl}, out)
}

// AllocationsQuery selects allocations; the zero value is the first thousand of all.
type AllocationsQuery struct {
	Service, User string
	Status        string // queued, allocated, released, expired or lost; empty: any
	Limit         int    // at most this many, 1 to 10,000; 0: 1,000
	After         string // the Next of the page before
}

// Allocations lists the allocations that services hold, wait for, or held in the last hour.
func (s Services) Allocations(ctx context.Context, q AllocationsQuery) (*wire.ServiceAllocations, error) {
	v := url.Values{}
	text(v, "service", q.Service)
	text(v, "user", q.User)
	text(v, "status", q.Status)
	text(v, "after", q.After)
	number(v, "limit", int64(q.Limit))
	out := &wire.ServiceAllocations{}
	_, err := s.client.calls.json(ctx, &request{method: http.MethodGet, path: "/gpu/allocations", query: v}, out)
	return out, err
}

// Allocation returns everything about one allocation, and the index of the state that it was read
// from. With an index and a wait it answers once the allocation has changed.
func (s Services) Allocation(ctx context.Context, id string, q JobQuery) (*wire.ServiceAllocation, uint64, error) {
	v := url.Values{}
	number(v, "index", int64(q.Index))
	if q.Wait > 0 {
		v.Set("wait", q.Wait.String())
	}
	out := &wire.ServiceAllocation{}
	index, err := s.client.calls.json(ctx, &request{method: http.MethodGet, path: "/gpu/allocations/" + url.PathEscape(id), query: v, wait: q.Wait}, out)
	return out, index, err
}
