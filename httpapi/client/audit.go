package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// AuditQuery selects records; the zero value is the newest 100.
type AuditQuery struct {
	Actor, Target, Action, Result string
	Since, Until                  time.Time
	Before                        uint64 // the Next of the page before
	Limit                         int    // 1 to 1000; 0: 100
}

// Audit returns a page of the audit trail, newest first.
func (c Operator) Audit(ctx context.Context, q AuditQuery) (*wire.Audit, error) {
	v := url.Values{}
	text(v, "actor", q.Actor)
	text(v, "target", q.Target)
	text(v, "action", q.Action)
	text(v, "result", q.Result)
	span(v, q.Since, q.Until)
	before(v, q.Before)
	number(v, "limit", int64(q.Limit))
	out := &wire.Audit{}
	_, err := c.client.calls.json(ctx, &request{method: http.MethodGet, path: "/audit", query: v}, out)
	return out, err
}

func before(v url.Values, place uint64) {
	if place > 0 {
		v.Set("before", strconv.FormatUint(place, 10))
	}
}

// VerifyAudit asks a peer to verify its whole audit trail.
func (c Operator) VerifyAudit(ctx context.Context) (*wire.AuditVerdict, error) {
	out := &wire.AuditVerdict{}
	_, err := c.client.calls.json(ctx, &request{method: http.MethodGet, path: "/audit/verify"}, out)
	return out, err
}

// Refusals returns the requests that the answering peer refused before they reached the log, newest
// first. Of q it uses Actor, Result, which is a code, the span, Before and the limit. The next page
// is another's if another peer answers.
func (c Operator) Refusals(ctx context.Context, q AuditQuery) (*wire.Refusals, error) {
	return c.requests(ctx, "/audit/refusals", q)
}

// Reads returns the reads of other users' data that the answering peer recorded, newest first,
// selected like refusals.
func (c Operator) Reads(ctx context.Context, q AuditQuery) (*wire.Refusals, error) {
	return c.requests(ctx, "/audit/reads", q)
}

func (c Operator) requests(ctx context.Context, path string, q AuditQuery) (*wire.Refusals, error) {
	v := url.Values{}
	text(v, "actor", q.Actor)
	text(v, "code", q.Result)
	span(v, q.Since, q.Until)
	before(v, q.Before)
	number(v, "limit", int64(q.Limit))
	out := &wire.Refusals{}
	_, err := c.client.calls.json(ctx, &request{method: http.MethodGet, path: path, query: v}, out)
	return out, err
}
