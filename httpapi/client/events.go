package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// EventQuery selects events.
type EventQuery struct {
	Types []string // such as "job.started", "node.*"; none: all
	Job   string
	User  string
	Node  string

	Actor  string // "user:alice", or "alice"
	Target string // "job 17", also of its tasks

	Last  int    // begin with this many of the newest that are kept
	After string // go on after the event of this id; empty: from now on
	Once  bool   // end after those, in place of following
}

// Bounds of a stream.
const (
	followPause = 500 * time.Millisecond // before another peer is asked
	silentLimit = 45 * time.Second       // a stream without a heartbeat is broken
	maxFrame    = 1 << 20                // bytes of one line
)

// Events passes events to a function, in order, until the context or the function ends the call, or
// with Once until there are no more. After a broken stream it continues behind the last event, by
// any peer. An event of type [wire.EventReset] means that some were missed: read again what was
// built from events.
func (l Lists) Events(ctx context.Context, q EventQuery, each func(*wire.Notice) error) error {
	for {
		err := l.follow(ctx, &q, each)
		var stop *stopError
		switch {
		case errors.As(err, &stop):
			return stop.err
		case ctx.Err() != nil:
			return ctx.Err()
		case q.Once && err == nil:
			return nil
		}
		if p, is := errors.AsType[*wire.Problem](err); is && p.Status != http.StatusServiceUnavailable && p.Status != http.StatusTooManyRequests {
			return err
		}
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stopError is an error of the caller's function, which ends the stream.
type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }
func (e *stopError) Unwrap() error { return e.err }

// closedStream returns why the peer has ended a stream, as a [wire.Problem].
func closedStream(data []byte) error {
	p := &wire.Problem{}
	if err := json.Unmarshal(data, p); err != nil {
		return err
	}
	return p
}

// follow reads one stream until it breaks, and records in the query where to go on.
func (l Lists) follow(ctx context.Context, q *EventQuery, each func(*wire.Notice) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v := url.Values{}
	text(v, "types", strings.Join(q.Types, ","))
	text(v, "job", q.Job)
	text(v, "user", q.User)
	text(v, "node", q.Node)
	text(v, "actor", q.Actor)
	text(v, "target", q.Target)
	text(v, "after", q.After)
	number(v, "last", int64(q.Last))
	if q.Once {
		v.Set("once", "true")
	}
	answer, err := l.client.calls.do(ctx, &request{kind: "events", method: http.MethodGet, path: "/events", query: v, stream: true})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	watch := time.AfterFunc(silentLimit, cancel)
	defer watch.Stop()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 0, 4096), maxFrame)
	kind := ""
	for lines.Scan() {
		watch.Reset(silentLimit)
		if of, is := bytes.CutPrefix(lines.Bytes(), []byte("event: ")); is {
			kind = string(of)
		} else if len(lines.Bytes()) == 0 {
			kind = "" // the event is complete
		}
		data, is := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		switch {
		case !is:
			continue
		case kind == wire.EventClosed:
			return closedStream(data)
		}
		e := &wire.Notice{}
		if err := json.Unmarshal(data, e); err != nil {
			return err
		}
		if err := each(e); err != nil {
			return &stopError{err}
		}
		if e.ID != "" { // without an id the position stays
			q.After, q.Last = e.ID, 0
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if !q.Once {
		return io.ErrUnexpectedEOF
	}
	return nil
}
