package client

import (
	"context"
	"net/http"

	"github.com/berth-gpu/berth/httpapi/wire"
)

const settingsPath = "/cluster/settings"

// Settings returns the settings of the whole cluster.
func (c Operator) Settings(ctx context.Context) (*wire.Settings, error) {
	out := &wire.Settings{}
	_, err := c.client.calls.json(ctx, &request{method: http.MethodGet, path: settingsPath}, out)
	return out, err
}

// SetSettings changes the settings in the body.
func (c Operator) SetSettings(ctx context.Context, body *wire.SetSettings) (*wire.Settings, error) {
	out := &wire.Settings{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPut, path: settingsPath}, body, out)
}
