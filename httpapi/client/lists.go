package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Lists returns jobs by their age, the tasks of arrays, the forecast, and the telemetry of GPUs.
type Lists struct{ client *Client }

// Lists returns the calls that return lists.
func (c *Client) Lists() Lists { return Lists{c} }

// Selection is what all lists can be asked for; the zero value is all entries with all fields, in the usual order.
type Selection struct {
	// Filters are filters by name, such as "state": "queued,running". docs/api.md has those of each list.
	Filters map[string]string
	Sort    string   // the field that the list is sorted by; empty: the usual one
	Order   string   // "asc" or "desc"; empty: the usual one
	Fields  []string // the fields that entries have in the answer; none: all
	Count   bool     // also count the entries that match, on all pages
}

// add adds the selection to a query.
func (s *Selection) add(v url.Values) {
	for name, value := range s.Filters {
		text(v, name, value)
	}
	text(v, "sort", s.Sort)
	text(v, "order", s.Order)
	text(v, "fields", strings.Join(s.Fields, ","))
	if s.Count {
		v.Set("count", "true")
	}
}

// JobsQuery selects jobs; the zero value is the newest 100.
type JobsQuery struct {
	Selection

	Limit int    // 1 to 1,000; 0: 100
	After string // the Next of the page before
}

// Jobs returns a page of the jobs that the state has, newest first by default. It includes all that were acknowledged before the call.
func (l Lists) Jobs(ctx context.Context, q JobsQuery) (*wire.Jobs, error) {
	v := url.Values{"consistency": {"linearizable"}}
	q.add(v)
	number(v, "limit", int64(q.Limit))
	text(v, "after", q.After)
	out := &wire.Jobs{}
	_, err := l.client.calls.json(ctx, &request{method: http.MethodGet, path: "/jobs", query: v}, out)
	return out, err
}

// NodesQuery selects nodes; the zero value is all of them.
type NodesQuery struct {
	Selection

	Limit int    // 0: all
	After string // the Next of the page before
}

// Nodes returns a page of the GPU hosts, by id by default.
func (l Lists) Nodes(ctx context.Context, q NodesQuery) (*wire.Nodes, error) {
	v := url.Values{}
	q.add(v)
	number(v, "limit", int64(q.Limit))
	text(v, "after", q.After)
	out := &wire.Nodes{}
	_, err := l.client.calls.json(ctx, &request{method: http.MethodGet, path: "/nodes", query: v}, out)
	return out, err
}

// Samples returns the newest telemetry of all GPUs, in columns in the order of the list of nodes.
func (l Lists) Samples(ctx context.Context) (*wire.Samples, error) {
	out := &wire.Samples{}
	_, err := l.client.calls.json(ctx, &request{method: http.MethodGet, path: "/gpu/samples"}, out)
	return out, err
}

// SpanQuery selects a part of the cluster's history; the zero value is the last 24 hours at one minute.
type SpanQuery struct {
	Since, Until time.Time
	Step         time.Duration // a multiple of a minute
	Series       []string      // empty: all; NAME_max is the greatest value of each step
}

// ClusterHistory returns the cluster's history in columns.
func (l Lists) ClusterHistory(ctx context.Context, q SpanQuery) (*wire.ClusterHistory, error) {
	v := url.Values{}
	for name, t := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !t.IsZero() {
			v.Set(name, t.UTC().Format(time.RFC3339))
		}
	}
	number(v, "step", int64(q.Step.Seconds()))
	text(v, "series", strings.Join(q.Series, ","))
	out := &wire.ClusterHistory{}
	_, err := l.client.calls.json(ctx, &request{method: http.MethodGet, path: "/cluster/history", query: v}, out)
	return out, err
}

// SubmitOptions returns what the caller can ask for in a submission.
func (l Lists) SubmitOptions(ctx context.Context) (*wire.SubmitOptions, error) {
	out := &wire.SubmitOptions{}
	_, err := l.client.calls.json(ctx, &request{method: http.MethodGet, path: "/submit/options"}, out)
	return out, err
}

// TasksQuery selects tasks of an array; the zero value is all of them.
type TasksQuery struct {
	State string // in this state only; several are separated by commas
	Limit int    // at most this many; 0: all
	After string // the Next of the page before
}

// Tasks returns the tasks of an array.
func (l Lists) Tasks(ctx context.Context, id string, q TasksQuery) (*wire.Tasks, error) {
	v := url.Values{}
	text(v, "state", q.State)
	text(v, "after", q.After)
	number(v, "limit", int64(q.Limit))
	out := &wire.Tasks{}
	_, err := l.client.calls.json(ctx, &request{method: http.MethodGet, path: "/jobs/" + url.PathEscape(id) + "/tasks", query: v}, out)
	return out, err
}

// Plan returns when and where waiting jobs are expected to start.
func (l Lists) Plan(ctx context.Context) (*wire.Plan, error) {
	out := &wire.Plan{}
	_, err := l.client.calls.json(ctx, &request{method: http.MethodGet, path: "/queue/plan"}, out)
	return out, err
}

// GPUHistory returns what a node's GPUs measured in the last quarter of an hour, in a number of
// steps of equal length, 1 to 180.
func (l Lists) GPUHistory(ctx context.Context, node string, steps int) (*wire.NodeHistory, error) {
	out := &wire.NodeHistory{}
	v := url.Values{}
	number(v, "steps", int64(steps))
	_, err := l.client.calls.json(ctx, &request{method: http.MethodGet, path: "/nodes/" + url.PathEscape(node) + "/gpus/history", query: v}, out)
	return out, err
}

// Analyze returns what a workload needs of GPUs, and why. It changes nothing.
func (l Lists) Analyze(ctx context.Context, w *wire.Workload) (*wire.WorkloadPlan, error) {
	data, err := encode(w)
	if err != nil {
		return nil, err
	}
	out := &wire.WorkloadPlan{}
	_, err = l.client.calls.json(ctx, &request{method: http.MethodPost, path: "/gpu/workload", body: data}, out)
	return out, err
}
