package forward

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// try is one write on its way to the peer that carries it out.
type try struct {
	f     *Forwarder
	local http.Handler
	w     http.ResponseWriter
	r     *http.Request // its context ends when the patience is over
	body  []byte
}

// run tries until there is an answer, or returns the code for the failure.
func (t *try) run(once bool) (code string) {
	pause, before := pauseFirst, Leader{}
	for {
		leader, until := t.f.Members.Leader()
		if leader != before {
			pause, before = pauseFirst, leader
		}
		failed := t.at(until, leader)
		if failed == "" {
			return ""
		}
		if code != wire.CodeOutcomeUnknown { // once unknown, it stays unknown until there is an answer
			code = failed
		}
		if once || t.r.Context().Err() != nil {
			return code
		}
		if !t.wait(until, leader, pause) {
			return code
		}
		pause = min(2*pause, pauseMost)
	}
}

// at tries one leader.
func (t *try) at(until context.Context, leader Leader) (code string) {
	switch {
	case leader.Self:
		return t.here()
	case leader.Address != "":
		return t.there(until, leader)
	}
	return wire.CodeNoLeader
}

// wait waits for another leader; for a known one, at most a pause.
func (t *try) wait(until context.Context, leader Leader, pause time.Duration) bool {
	var again <-chan time.Time
	if leader.ID != "" {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-until.Done():
	case <-again:
	case <-t.r.Context().Done():
		return false
	}
	return true
}

// last carries out, or refuses, a request that has had its hop.
func (t *try) last() {
	t.r.Body = reader(t.body)
	t.local.ServeHTTP(t.w, t.r)
}

// here carries out the request at this peer.
func (t *try) here() (code string) {
	t.r.Body = reader(t.body)
	a := &attempt{to: t.w, header: http.Header{}}
	t.local.ServeHTTP(a, t.r)
	return a.failed
}

// attempt passes an answer on, unless it reports that there is none.
type attempt struct {
	to      http.ResponseWriter
	header  http.Header
	decided bool
	failed  string // the code of an answer that was held back
}

// Header returns that of the answer, if it passes.
func (a *attempt) Header() http.Header { return a.header }

// WriteHeader decides whether the answer passes.
func (a *attempt) WriteHeader(status int) {
	if a.decided {
		return
	}
	a.decided = true
	if a.failed = noAnswer(status, a.header); a.failed != "" {
		return
	}
	to := a.to.Header()
	for k, v := range a.header {
		to[k] = v
	}
	a.to.WriteHeader(status)
}

// Write writes what passes.
func (a *attempt) Write(data []byte) (int, error) {
	if !a.decided {
		a.WriteHeader(http.StatusOK)
	}
	if a.failed != "" {
		return len(data), nil
	}
	return a.to.Write(data)
}

// Unwrap is for http.ResponseController.
func (a *attempt) Unwrap() http.ResponseWriter { return a.to }

// noAnswer returns the code of an answer that asks for another try.
func noAnswer(status int, h http.Header) string {
	if status != http.StatusServiceUnavailable {
		return ""
	}
	switch code := h.Get(wire.HeaderCode); code {
	case wire.CodeNoLeader, wire.CodeOutcomeUnknown:
		return code
	}
	return ""
}

// there sends the request to the leader. The leader's answer is read whole before any of it is
// passed on, so that one that breaks off is tried again.
func (t *try) there(until context.Context, leader Leader) (code string) {
	ctx, cancel := context.WithCancel(t.r.Context())
	defer cancel()
	stop := context.AfterFunc(until, cancel) // a leader that is gone may never answer
	defer stop()
	to, err := endpoint.URL(leader.Address, t.r.URL.RequestURI())
	if err != nil {
		return wire.CodeNoLeader // an address that is not valid
	}
	out, err := http.NewRequestWithContext(ctx, t.r.Method, to.String(), bytes.NewReader(t.body))
	if err != nil {
		return wire.CodeNoLeader
	}
	copyHeader(out.Header, t.r.Header)
	out.Header.Set(wire.HeaderForwarded, string(t.f.Self))
	out.Header.Del("Origin") // it was compared with the name by which the client knows this peer, not the leader
	out.Header.Del("Sec-Fetch-Site")
	if t.f.Sign != nil {
		t.f.Sign(out, t.body)
	}
	answer, err := t.f.Transport.RoundTrip(out)
	if err != nil {
		return fate(err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil || len(data) > maxAnswer {
		return wire.CodeOutcomeUnknown
	}
	if code := noAnswer(answer.StatusCode, answer.Header); code != "" {
		return code
	}
	t.pass(answer, data)
	return ""
}

// fate returns the code for a request that got no answer.
func fate(err error) (code string) {
	if op, is := errors.AsType[*net.OpError](err); is && op.Op == "dial" {
		return wire.CodeNoLeader
	}
	return wire.CodeOutcomeUnknown
}

// pass answers with the leader's answer.
func (t *try) pass(answer *http.Response, data []byte) {
	if index, err := strconv.ParseUint(answer.Header.Get(wire.HeaderIndex), 10, 64); err == nil && index > 0 {
		t.f.Members.Saw(index)
	}
	copyHeader(t.w.Header(), answer.Header)
	t.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	t.w.WriteHeader(answer.StatusCode)
	// A client that has left does not need its answer.
	_, _ = t.w.Write(data)
}

// copyHeader copies the headers of the message without those of a connection.
func copyHeader(to, from http.Header) {
	for name, values := range from {
		if !ofConnection(name) {
			to[name] = values
		}
	}
}

// ofConnection reports whether a header is for a single hop (RFC 9110, 7.6.1).
func ofConnection(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Expect", "Date":
		return true
	}
	return strings.HasPrefix(name, "Proxy-")
}
