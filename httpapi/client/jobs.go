package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// AllTasks in place of tasks' numbers means every task of the job.
const AllTasks = ""

// Submit queues a job. The key names the submission, so that it is carried out once even if it is
// sent repeatedly; empty: a new one is drawn for this call.
func (c *Client) Submit(ctx context.Context, job *wire.Submit, key string) (*wire.Submitted, error) {
	out := &wire.Submitted{}
	return out, c.calls.change(ctx, &request{method: http.MethodPost, path: "/queue/submit", key: key}, job, out)
}

// TryOut returns what a submission would result in, and queues nothing.
func (c *Client) TryOut(ctx context.Context, job *wire.Submit) (*wire.Submitted, error) {
	out := &wire.Submitted{}
	q := &request{method: http.MethodPost, path: "/queue/submit", query: url.Values{"dry_run": {"true"}}}
	return out, c.calls.change(ctx, q, job, out)
}

// QueueQuery selects a part of the queue; the zero value is all of it.
type QueueQuery struct {
	Limit int    // at most this many of each list; 0: all
	After string // the Next of the page before
	User  string // of this user only
	State string // in this state only
	Ended int    // this many of those that ended last
	Brief bool   // without QueuedJobs, which has the same jobs again

	Selection

	Consistency string // "stale", "default" or "linearizable"; empty: default
}

// Queue returns what waits, what runs, and if asked for what has ended.
func (c *Client) Queue(ctx context.Context, q QueueQuery) (*wire.Queue, error) {
	v := url.Values{}
	q.add(v)
	number(v, "limit", int64(q.Limit))
	number(v, "ended", int64(q.Ended))
	if q.Brief {
		v.Set("brief", "true")
	}
	text(v, "after", q.After)
	text(v, "user", q.User)
	text(v, "state", q.State)
	text(v, "consistency", q.Consistency)
	out := &wire.Queue{}
	_, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/queue", query: v}, out)
	return out, err
}

// JobQuery selects a task of a job, and how new the answer must be.
type JobQuery struct {
	Task        string        // number of a task of an array; empty: the first
	Index       uint64        // wait until the job has changed after it; 0: no wait
	Wait        time.Duration // limit of the wait, up to a minute
	Consistency string        // "stale", "default" or "linearizable"; empty: default
}

// Job returns everything about a job, and the index of the state that it was read from. A caller
// that passes that index back waits for the next change.
func (c *Client) Job(ctx context.Context, id string, q JobQuery) (*wire.Detail, uint64, error) {
	v := url.Values{}
	text(v, "task", q.Task)
	number(v, "index", int64(q.Index))
	if q.Wait > 0 {
		v.Set("wait", q.Wait.String())
	}
	text(v, "consistency", q.Consistency)
	out := &wire.Detail{}
	index, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/jobs/" + url.PathEscape(id), query: v, wait: q.Wait}, out)
	return out, index, err
}

// Cancel ends a job: at once if it waits, by signal, grace and kill if it runs. Tasks
// are some of an array's, such as "3" or "3-7,9", or AllTasks. The note goes into the
// job's timeline.
func (c *Client) Cancel(ctx context.Context, id, tasks, note string) (*wire.Done, error) {
	v := url.Values{}
	text(v, "task", tasks)
	text(v, "note", note)
	out := &wire.Done{}
	return out, c.calls.change(ctx, &request{method: http.MethodDelete, path: "/queue/" + url.PathEscape(id), query: v}, nil, out)
}

// SetPriority moves a job that has not ended to another class.
func (c *Client) SetPriority(ctx context.Context, id string, priority int64) (*wire.Done, error) {
	out := &wire.Done{}
	q := &request{method: http.MethodPatch, path: "/queue/" + url.PathEscape(id) + "/priority"}
	return out, c.calls.change(ctx, q, &wire.SetPriority{Priority: &priority}, out)
}

// MoveBefore moves a job that waits directly ahead of another one in the order of the queue.
func (c *Client) MoveBefore(ctx context.Context, id, before string) (*wire.Done, error) {
	out := &wire.Done{}
	q := &request{method: http.MethodPatch, path: "/queue/" + url.PathEscape(id) + "/priority"}
	return out, c.calls.change(ctx, q, &wire.SetPriority{Before: before}, out)
}

// Bulk changes many jobs at once, with one result for each. The key names the request, so that each change is carried out once even if it
// is sent repeatedly; empty: a new one is drawn for this call.
func (c *Client) Bulk(ctx context.Context, body *wire.Bulk, key string) (*wire.BulkDone, error) {
	out := &wire.BulkDone{}
	return out, c.calls.change(ctx, &request{method: http.MethodPost, path: "/queue/bulk", key: key}, body, out)
}

// Spec returns a job as the submission that would queue the same job.
func (c *Client) Spec(ctx context.Context, id string) (*wire.Submit, error) {
	out := &wire.Submit{}
	_, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/jobs/" + url.PathEscape(id) + "/spec"}, out)
	return out, err
}

// LogQuery selects output of a job.
type LogQuery struct {
	Task    string // number of a task of an array; empty: the first
	Attempt int64  // 0: the newest
	Rank    int64  // of a gang
	Stream  string // "stdout" or "stderr"; empty: stdout
	Tail    *int   // only the last lines, from 0 on; nil: all
	Follow  bool   // go on until the rank ends

	Bytes  bool   // bytes of the output only; the answer ends where bytes were not kept
	Offset *int64 // begin there, in bytes; nil: not given
}

// Log is a job's output. The caller closes the body.
type Log struct {
	Body    io.ReadCloser
	Attempt int64 // whose output the body is
	Offset  int64 // where in the output the body begins; with Bytes or Offset only
	Size    int64 // of the output when the answer began; with Bytes or Offset only
	Ended   bool  // nothing more will be written; with Bytes or Offset only
	Exact   bool  // the answer says where the body begins; without that the body is not known to have bytes of the output only
	Kept    bool  // the node was not reached: this is the end of the output, which peers keep
}

// Logs returns a job's output. The caller closes it.
func (c *Client) Logs(ctx context.Context, id string, q LogQuery) (io.ReadCloser, error) {
	l, err := c.Log(ctx, id, q)
	if err != nil {
		return nil, err
	}
	return l.Body, nil
}

// Log returns a job's output, and where the output stands.
func (c *Client) Log(ctx context.Context, id string, q LogQuery) (*Log, error) {
	v := url.Values{}
	text(v, "task", q.Task)
	number(v, "attempt", q.Attempt)
	number(v, "rank", q.Rank)
	if q.Tail != nil {
		v.Set("tail", strconv.Itoa(*q.Tail))
	}
	text(v, "stream", q.Stream)
	if q.Follow {
		v.Set("follow", "true")
	}
	if q.Bytes {
		v.Set("bytes", "true")
	}
	if q.Offset != nil {
		v.Set("offset", strconv.FormatInt(*q.Offset, 10))
	}
	answer, err := c.calls.do(ctx, &request{
		method: http.MethodGet, path: "/jobs/" + url.PathEscape(id) + "/logs", query: v, media: "text/plain", stream: true,
	})
	if err != nil {
		return nil, err
	}
	l := &Log{Body: &logBody{answer}, Ended: answer.Header.Get(wire.HeaderLogEnded) == "true", Kept: answer.Header.Get(wire.HeaderSource) == "tail"}
	l.Exact = answer.Header.Get(wire.HeaderLogOffset) != ""
	for name, to := range map[string]*int64{wire.HeaderAttempt: &l.Attempt, wire.HeaderLogOffset: &l.Offset, wire.HeaderLogSize: &l.Size} { // order-free: each by itself
		*to, _ = strconv.ParseInt(answer.Header.Get(name), 10, 64) // 0 without the header
	}
	return l, nil
}

// logBody is a log whose reading fails with the reason if it ends early.
type logBody struct{ answer *http.Response }

// Read returns a *[wire.Problem] in place of io.EOF if the caller has lost the right to read on.
func (b *logBody) Read(data []byte) (int, error) {
	n, err := b.answer.Body.Read(data)
	text := b.answer.Trailer.Get(wire.TrailerProblem)
	if err != io.EOF || text == "" {
		return n, err
	}
	p := &wire.Problem{}
	if json.Unmarshal([]byte(text), p) != nil {
		return n, err
	}
	return n, p
}

// Close ends the request.
func (b *logBody) Close() error { return b.answer.Body.Close() }

// Statistics returns counts of jobs over the cluster's life.
func (c *Client) Statistics(ctx context.Context) (*wire.Statistics, error) {
	out := &wire.Statistics{}
	_, err := c.calls.json(ctx, &request{method: http.MethodGet, path: "/queue/statistics"}, out)
	return out, err
}

func number(v url.Values, name string, n int64) {
	if n != 0 {
		v.Set(name, strconv.FormatInt(n, 10))
	}
}

func text(v url.Values, name, s string) {
	if s != "" {
		v.Set(name, s)
	}
}
