package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Controls changes jobs that are queued or run.
type Controls struct{ client *Client }

// Controls returns the calls that change jobs.
func (c *Client) Controls() Controls { return Controls{c} }

// Hold keeps a waiting job from being started. Tasks are some of an array's, such as "3" or
// "3-7,9", or AllTasks; the same applies to Release and Requeue.
func (c Controls) Hold(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
	return c.control(ctx, "hold", id, tasks, note)
}

// Release lets a held job start, and retries one that failed at once.
func (c Controls) Release(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
	return c.control(ctx, "release", id, tasks, note)
}

// Requeue stops a running job and returns it to the queue, uncharged.
func (c Controls) Requeue(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
	return c.control(ctx, "requeue", id, tasks, note)
}

// RequeueHeld is Requeue, and the job is held in the queue until it is released. A job that waits is held at once.
func (c Controls) RequeueHeld(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
	return c.change(ctx, "requeue", id, tasks, note, url.Values{"hold": {"true"}})
}

func (c Controls) control(ctx context.Context, verb, id, tasks, note string) (*wire.Done, error) {
	return c.change(ctx, verb, id, tasks, note, url.Values{})
}

func (c Controls) change(ctx context.Context, verb, id, tasks, note string, v url.Values) (*wire.Done, error) {
	text(v, "task", tasks)
	text(v, "note", note)
	out := &wire.Done{}
	q := &request{method: http.MethodPost, path: "/queue/" + url.PathEscape(id) + "/" + verb, query: v}
	return out, c.client.calls.change(ctx, q, nil, out)
}

// DropDependencies removes the dependencies of a job.
func (c Controls) DropDependencies(ctx context.Context, id, note string) (*wire.Done, error) {
	v := url.Values{}
	text(v, "note", note)
	out := &wire.Done{}
	q := &request{method: http.MethodDelete, path: "/queue/" + url.PathEscape(id) + "/dependencies", query: v}
	return out, c.client.calls.change(ctx, q, nil, out)
}

// Extend raises a job's time limit, even while it runs.
func (c Controls) Extend(ctx context.Context, id string, body *wire.Extend) (*wire.Done, error) {
	out := &wire.Done{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPost, path: "/queue/" + url.PathEscape(id) + "/extend"}, body, out)
}

// Purge removes the script, the input and the environments of an ended job.
func (c Controls) Purge(ctx context.Context, id string) (*wire.Done, error) {
	out := &wire.Done{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodDelete, path: "/jobs/" + url.PathEscape(id) + "/spec"}, nil, out)
}

// Attach reports that the client of an attached job is alive.
func (c Controls) Attach(ctx context.Context, id string) (*wire.Done, error) {
	out := &wire.Done{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPost, path: "/jobs/" + url.PathEscape(id) + "/attach"}, nil, out)
}
