package client

import (
	"context"
	"net/http"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// MakeCode makes a one-time code, with which a browser signs in as the caller.
func (p People) MakeCode(ctx context.Context) (*wire.Code, error) {
	out := &wire.Code{}
	return out, p.client.calls.change(ctx, &request{method: http.MethodPost, path: "/session/codes"}, nil, out)
}

// Address returns the address of the peer that is asked first, the one that has answered last: host:port.
func (c *Client) Address() string {
	if line := c.calls.line(""); len(line) > 0 {
		return line[0]
	}
	return ""
}
