package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Operator changes nodes, GPUs, limits and other settings of the cluster.
type Operator struct{ client *Client }

// Operator returns the calls of operators.
func (c *Client) Operator() Operator { return Operator{c} }

// SetNodeMode opens, cordons or drains a node.
func (c Operator) SetNodeMode(ctx context.Context, node string, body *wire.SetMode) (*wire.NodeDone, error) {
	out := &wire.NodeDone{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPut, path: "/nodes/" + url.PathEscape(node) + "/mode"}, body, out)
}

// SetNodeLabels labels a node.
func (c Operator) SetNodeLabels(ctx context.Context, node string, body *wire.SetLabels) (*wire.NodeDone, error) {
	out := &wire.NodeDone{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPatch, path: "/nodes/" + url.PathEscape(node) + "/labels"}, body, out)
}

// SetGPUMode opens, cordons or drains one GPU, named by its UUID.
func (c Operator) SetGPUMode(ctx context.Context, uuid string, body *wire.SetMode) (*wire.NodeDone, error) {
	out := &wire.NodeDone{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPut, path: "/gpus/" + url.PathEscape(uuid) + "/mode"}, body, out)
}

// ConfirmDead is an operator's confirmation that an unreachable node is dead with all its processes.
func (c Operator) ConfirmDead(ctx context.Context, node string, body *wire.ConfirmDead) (*wire.NodeDone, error) {
	out := &wire.NodeDone{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPost, path: "/nodes/" + url.PathEscape(node) + "/confirm-dead"}, body, out)
}

// Foreign kills or adopts ("kill", "adopt") attempts on a node that the state does not know.
func (c Operator) Foreign(ctx context.Context, node, do string, body *wire.Foreign) (*wire.NodeDone, error) {
	out := &wire.NodeDone{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPost, path: "/nodes/" + url.PathEscape(node) + "/foreign/" + do}, body, out)
}

// RetireNode removes a node that is empty or dead from the cluster.
func (c Operator) RetireNode(ctx context.Context, node string) (*wire.NodeDone, error) {
	out := &wire.NodeDone{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodDelete, path: "/nodes/" + url.PathEscape(node)}, nil, out)
}
