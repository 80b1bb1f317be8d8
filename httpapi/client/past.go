package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// HistoryQuery selects ended jobs; the zero value is the last 100.
type HistoryQuery struct {
	User, Project, Name string
	States              []string // completed, failed, canceled; none: all
	Since, Until        time.Time
	Before              string // the Next of the page before
	Limit               int    // 1 to 1000; 0: 100

	Selection
}

// UsageQuery selects use by span and user; the zero value is that of all users in the last thirty
// days, by user.
type UsageQuery struct {
	By            []string // user, project, name
	User, Project string
	Since, Until  time.Time
}

// History returns a page of the jobs that have ended, the last one first.
func (c Operator) History(ctx context.Context, q HistoryQuery) (*wire.History, error) {
	v := url.Values{}
	q.add(v)
	text(v, "user", q.User)
	text(v, "project", q.Project)
	text(v, "name", q.Name)
	text(v, "state", strings.Join(q.States, ","))
	text(v, "before", q.Before)
	span(v, q.Since, q.Until)
	number(v, "limit", int64(q.Limit))
	out := &wire.History{}
	_, err := c.client.calls.json(ctx, &request{method: http.MethodGet, path: "/history", query: v}, out)
	return out, err
}

// Usage returns the GPU-hours of users, projects or jobs.
func (c Operator) Usage(ctx context.Context, q UsageQuery) (*wire.Usage, error) {
	v := url.Values{}
	text(v, "by", strings.Join(q.By, ","))
	text(v, "user", q.User)
	text(v, "project", q.Project)
	span(v, q.Since, q.Until)
	out := &wire.Usage{}
	_, err := c.client.calls.json(ctx, &request{method: http.MethodGet, path: "/usage", query: v}, out)
	return out, err
}

// span adds the given bounds of a span of time.
func span(v url.Values, since, until time.Time) {
	for name, t := range map[string]time.Time{"since": since, "until": until} {
		if !t.IsZero() {
			v.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
}
