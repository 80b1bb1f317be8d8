package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Webhooks lists and changes webhooks.
type Webhooks struct{ client *Client }

// Webhooks returns the calls about webhooks.
func (c Operator) Webhooks() Webhooks { return Webhooks(c) }

// List returns all webhooks, and the cluster's settings of them.
func (w Webhooks) List(ctx context.Context) (*wire.Webhooks, error) {
	out := &wire.Webhooks{}
	_, err := w.client.calls.json(ctx, &request{method: http.MethodGet, path: "/webhooks"}, out)
	return out, err
}

// Add makes a webhook that sends events to an address. The answer holds the secret that signs
// deliveries, which is not shown again.
func (w Webhooks) Add(ctx context.Context, body *wire.SetWebhook) (*wire.WebhookMade, error) {
	out := &wire.WebhookMade{}
	return out, w.client.calls.change(ctx, &request{method: http.MethodPost, path: "/webhooks"}, body, out)
}

// Replace changes a webhook as a whole; its secret stays unless another is given.
func (w Webhooks) Replace(ctx context.Context, id string, body *wire.SetWebhook) (*wire.WebhookMade, error) {
	out := &wire.WebhookMade{}
	return out, w.client.calls.change(ctx, &request{method: http.MethodPut, path: hookPath(id)}, body, out)
}

// Remove removes a webhook and what waits for it.
func (w Webhooks) Remove(ctx context.Context, id string) (*wire.WebhookMade, error) {
	out := &wire.WebhookMade{}
	return out, w.client.calls.change(ctx, &request{method: http.MethodDelete, path: hookPath(id)}, nil, out)
}

// Test sends a test event to a webhook; Deliveries returns the result.
func (w Webhooks) Test(ctx context.Context, id string) (*wire.WebhookMade, error) {
	out := &wire.WebhookMade{}
	return out, w.client.calls.change(ctx, &request{method: http.MethodPost, path: hookPath(id) + "/test"}, nil, out)
}

// Set changes the cluster's settings of webhooks: what the body leaves out stays.
func (w Webhooks) Set(ctx context.Context, body *wire.SetWebhookSettings) (*wire.WebhookMade, error) {
	out := &wire.WebhookMade{}
	return out, w.client.calls.change(ctx, &request{method: http.MethodPut, path: "/webhooks/settings"}, body, out)
}

// DeliveryQuery selects deliveries; the zero value is the newest hundred.
type DeliveryQuery struct {
	To    string // such as "job:17" or "webhook:wh_1"
	State string // "pending", "delivered" or "dead"
	Limit int
}

// Deliveries returns deliveries that wait and the results of those that have ended, newest first.
func (w Webhooks) Deliveries(ctx context.Context, q DeliveryQuery) (*wire.Deliveries, error) {
	v := url.Values{}
	text(v, "to", q.To)
	text(v, "state", q.State)
	number(v, "limit", int64(q.Limit))
	out := &wire.Deliveries{}
	_, err := w.client.calls.json(ctx, &request{method: http.MethodGet, path: "/deliveries", query: v}, out)
	return out, err
}

func hookPath(id string) string { return "/webhooks/" + url.PathEscape(id) }
