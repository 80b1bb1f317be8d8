package forward

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
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

// there passes the request on to the leader. An answer comes whole or not at all.
func (t *try) there(until context.Context, leader Leader) (code string) {
	ctx, cancel := context.WithCancel(t.r.Context())
	defer cancel()
	stop := context.AfterFunc(until, cancel) // a leader that is gone may never answer
	defer stop()
	header := http.Header{}
	copyHeader(header, t.r.Header)
	for _, name := range []string{"Origin", "Sec-Fetch-Site", "Cookie"} { // the first two were checked against the name of this peer
		header.Del(name)
	}
	q := &Request{Method: t.r.Method, Target: t.r.URL.RequestURI(), Header: header, Body: t.body}
	t.f.Sender(t.r, q)
	answer, err := t.f.Send(ctx, peer.Server{ID: leader.ID, Address: leader.Address}, q)
	switch {
	case err == nil:
	case call.Undone(err):
		return wire.CodeNoLeader
	default:
		return wire.CodeOutcomeUnknown
	}
	if code := noAnswer(answer.Status, answer.Header); code != "" {
		return code
	}
	t.pass(answer)
	return ""
}

// pass answers with the leader's answer.
func (t *try) pass(answer *Answer) {
	header := http.Header(answer.Header)
	if index, err := strconv.ParseUint(header.Get(wire.HeaderIndex), 10, 64); err == nil && index > 0 {
		t.f.Members.Saw(index)
	}
	copyHeader(t.w.Header(), header)
	t.w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	t.w.WriteHeader(answer.Status)
	// A client that has left does not need its answer.
	_, _ = t.w.Write(answer.Body)
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
