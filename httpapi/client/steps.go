package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/httpapi/tunnel"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Steps connects to the server of steps of a job in Slurm's language; task is that of an array, or empty. The connection ends with the context.
// A *[wire.Problem] with the code [wire.CodeNotFound] says that the server does not answer yet.
func (c *Client) Steps(ctx context.Context, id, task string) (net.Conn, error) {
	v := url.Values{}
	text(v, "task", task)
	target := "/jobs/" + url.PathEscape(id) + "/steps"
	if len(v) > 0 {
		target += "?" + v.Encode()
	}
	return c.calls.tunnel(ctx, target)
}

// tunnel asks each peer once for a tunnel until one opens it.
func (c *caller) tunnel(ctx context.Context, target string) (net.Conn, error) {
	failure := ErrUnreachable
	for _, peer := range c.line("") {
		to, err := endpoint.URL(peer, target)
		if err != nil {
			return nil, fmt.Errorf("address of a peer: %w", err)
		}
		header := http.Header{"User-Agent": {c.agent}}
		if c.token != "" {
			header.Set("Authorization", "Bearer "+c.token)
		}
		conn, answer, err := tunnel.Dial(ctx, c.http.Transport, to, header, c.limit)
		if err == nil {
			return conn, nil
		}
		if answer == nil {
			failure = fmt.Errorf("%w at %s: %w", ErrUnreachable, peer, err)
			c.passOver("", peer)
			continue
		}
		failure = readProblem(answer)
		if p, is := errors.AsType[*wire.Problem](failure); is && p.Status < http.StatusInternalServerError {
			return nil, failure
		}
	}
	return nil, failure
}
