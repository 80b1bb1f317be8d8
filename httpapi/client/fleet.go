package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// GPUStatus returns every GPU and its use.
func (c *Client) GPUStatus(ctx context.Context) (*wire.GPUStatus, error) {
	out := &wire.GPUStatus{}
	_, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/gpu/status"}, out)
	return out, err
}

// Nodes returns every GPU host.
func (c *Client) Nodes(ctx context.Context) (*wire.Nodes, error) {
	out := &wire.Nodes{}
	_, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/nodes"}, out)
	return out, err
}

// Node returns a GPU host with the jobs that run there.
func (c *Client) Node(ctx context.Context, id string) (*wire.NodeDetail, error) {
	out := &wire.NodeDetail{}
	_, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/nodes/" + url.PathEscape(id)}, out)
	return out, err
}

// Peers returns every peer, as the one that answers sees it.
func (c *Client) Peers(ctx context.Context) (*wire.Peers, error) {
	out := &wire.Peers{}
	_, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/cluster/peers"}, out)
	return out, err
}

// Orchestrator returns whether jobs are started, and the counts of the scheduler.
func (c *Client) Orchestrator(ctx context.Context) (*wire.Orchestrator, error) {
	out := &wire.Orchestrator{}
	_, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/orchestrator/status"}, out)
	return out, err
}

// Switch starts or stops placements and preemptions; nothing else stops.
func (c *Client) Switch(ctx context.Context, running bool) (*wire.Switched, error) {
	path := "/orchestrator/stop"
	if running {
		path = "/orchestrator/start"
	}
	out := &wire.Switched{}
	return out, c.calls.change(ctx, &request{method: http.MethodPost, path: path}, nil, out)
}

// Policies returns how the queue is ordered, and what can be tuned.
func (c *Client) Policies(ctx context.Context) (*wire.Policies, error) {
	out := &wire.Policies{}
	_, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/orchestrator/policies"}, out)
	return out, err
}

// SetPolicy chooses the order of the queue, and tunes it.
func (c *Client) SetPolicy(ctx context.Context, set *wire.SetPolicy) (*wire.Orchestrator, error) {
	out := &wire.Orchestrator{}
	q := &request{method: http.MethodPut, path: "/orchestrator/policy"}
	return out, c.calls.change(ctx, q, set, out)
}

// Health returns whether a peer can serve. The error of one that cannot is a *wire.Problem.
func (c *Client) Health(ctx context.Context) (*wire.Health, error) {
	out := &wire.Health{}
	_, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/readyz"}, out)
	return out, err
}
