package core

import (
	"context"
	"net"
	"net/http"
)

// caller is the sender of a request, for the audit trail.
type caller struct {
	from     string // address
	proposed bool   // the command reached the log, which records its result
}

type callerKey struct{}

// withCaller records where a request comes from: one that a peer has passed on has the address of its client
// as the address of its sender, too.
func withCaller(r *http.Request) *http.Request {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		from = ""
	}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, &caller{from: from}))
}

func callerOf(ctx context.Context) *caller {
	if c, known := ctx.Value(callerKey{}).(*caller); known {
		return c
	}
	return &caller{}
}

// SenderOf returns the address that a request comes from.
func SenderOf(ctx context.Context) string { return callerOf(ctx).from }

// Proposing records that a request's command reaches the log, and returns where the request comes
// from.
func Proposing(ctx context.Context) (from string) {
	c := callerOf(ctx)
	c.proposed = true
	return c.from
}
