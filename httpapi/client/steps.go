package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/httpapi/tunnel"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Steps connects to the server of steps of a job in Slurm's language; task is that of an array, or empty. The connection outlives the peer
// that it goes by: it goes on by another one. It ends with the context, and with [tunnel.ErrLost] if no peer passes it on within
// [tunnel.ResumeFor]. A *[wire.Problem] with the code "unavailable" says that the server does not answer yet.
func (c *Client) Steps(ctx context.Context, id, task string) (net.Conn, error) {
	var name [tunnel.SessionBytes]byte
	_, _ = rand.Read(name[:]) // never fails
	v := url.Values{"session": {hex.EncodeToString(name[:])}}
	text(v, "task", task)
	path := "/jobs/" + url.PathEscape(id) + "/steps?"
	first, err := c.calls.tunnel(ctx, path+v.Encode())
	if err != nil {
		return nil, err
	}
	v.Set("resume", "true")
	stream := tunnel.NewStream(tunnel.Patience)
	context.AfterFunc(ctx, func() { stream.Fail(context.Cause(ctx)) })
	go stream.Keep(first, func() (net.Conn, error) { return c.calls.tunnel(ctx, path+v.Encode()) }, func(err error) bool {
		p, is := errors.AsType[*wire.Problem](err)
		return is && p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests
	})
	return stream, nil
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
