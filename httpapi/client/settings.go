package client

import (
	"context"
	"net/http"

	"github.com/berth-gpu/berth/httpapi/wire"
)

const settingsPath = "/cluster/settings"

// Settings tells what the cluster as a whole has one value of.
func (c Operator) Settings(ctx context.Context) (*wire.Settings, error) {
	out := &wire.Settings{}
	_, err := c.client.calls.json(ctx, &request{method: http.MethodGet, path: settingsPath}, out)
	return out, err
}

// SetSettings changes the settings that the body names.
func (c Operator) SetSettings(ctx context.Context, body *wire.SetSettings) (*wire.Settings, error) {
	out := &wire.Settings{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPut, path: settingsPath}, body, out)
}
