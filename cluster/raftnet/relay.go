package raftnet

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// relay stands between the wire and raft's main goroutine and is one goroutine itself. It hands over one
// request at a time, so it knows exactly what the main goroutine has answered and in which order; that costs
// nothing, as the main goroutine answers each before it takes the next. The queue is bounded by the number of
// connections: each has one request under way.
type relay struct {
	in      <-chan incoming
	out     chan raft.RPC
	book    *book
	limits  relayLimits
	checks  checks
	stop    chan struct{}
	stopped chan struct{}
	counts  relayCounts
	heard   heard

	answers chan raft.RPCResponse
	waiting []*request
	serving *request // what the main goroutine works on
	busy    *time.Timer
}

type relayLimits struct {
	inPlace  time.Duration // how long after raft's last own answer heartbeats are answered; 0: never
	patience time.Duration // how long a snapshot's sender may be silent
}

type relayCounts struct {
	inPlace   atomic.Uint64 // heartbeats answered in place of the main goroutine
	malformed atomic.Uint64 // requests refused that no sound peer sends
	refused   atomic.Uint64 // requests refused for their sender or its data folder
}

type request struct {
	rpc       raft.RPC
	body      *body                      // of a snapshot
	heartbeat *raft.AppendEntriesRequest // nil: something else, or no longer to be answered in place
	due       time.Time                  // when a heartbeat has waited for long enough
	answered  bool
}

func newRelay(in <-chan incoming, book *book, limits relayLimits, checks checks) *relay {
	busy := time.NewTimer(time.Hour)
	busy.Stop()
	return &relay{
		heard:   heard{born: time.Now()},
		in:      in,
		out:     make(chan raft.RPC),
		book:    book,
		limits:  limits,
		checks:  checks,
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
		answers: make(chan raft.RPCResponse, 1),
		busy:    busy,
	}
}

func (r *relay) run() {
	defer close(r.stopped)
	defer r.busy.Stop()
	for {
		var out chan<- raft.RPC
		var next raft.RPC
		if r.serving == nil && len(r.waiting) > 0 {
			out, next = r.out, r.waiting[0].rpc
			next.RespChan = r.answers
		}
		select {
		case q := <-r.in:
			r.receive(q.RPC, q.proven)
		case out <- next:
			r.serving = r.waiting[0]
			r.waiting = slices.Delete(r.waiting, 0, 1)
		case answer := <-r.answers:
			r.finish(answer)
		case <-r.busy.C:
			r.answerInPlace(time.Now())
		case <-r.stop:
			return
		}
	}
}

func (r *relay) receive(rpc raft.RPC, proven raft.ServerID) {
	if err := r.checks.malformed(rpc.Command); err != nil {
		r.counts.malformed.Add(1)
		refuse(rpc, fmt.Errorf("refused a malformed %T: %w", rpc.Command, err))
		return
	}
	verdict, err := admit(r.checks.folders, rpc.Command)
	if err == nil {
		err = claimed(proven, rpc.Command)
	}
	if err != nil {
		r.counts.refused.Add(1)
		refuse(rpc, err)
		return
	}
	r.heard.note(rpc.Command)
	switch q := rpc.Command.(type) {
	case *raft.RequestPreVoteRequest:
		if verdict.Outside {
			r.encourage(rpc, q)
			return
		}
	case *raft.RequestVoteRequest:
		if r.checks.folders != nil {
			bind(q, verdict)
		}
	}
	q := &request{rpc: rpc}
	if rpc.Reader != nil {
		q.body = &body{source: rpc.Reader, patience: r.limits.patience}
		q.rpc.Reader = q.body
	}
	if r.limits.inPlace > 0 && isHeartbeat(rpc.Command) {
		q.heartbeat, _ = rpc.Command.(*raft.AppendEntriesRequest)
		q.due = time.Now().Add(busyAfter)
		if r.earliest().IsZero() {
			r.busy.Reset(busyAfter)
		}
	}
	r.waiting = append(r.waiting, q)
}

// encourage answers a candidate that has no vote in this peer's configuration that it may stand, which Raft would not: see bind. This peer
// hears no leader, or the message would not have been admitted.
func (r *relay) encourage(rpc raft.RPC, q *raft.RequestPreVoteRequest) {
	answer := raft.RPCResponse{Response: &raft.RequestPreVoteResponse{Term: q.Term, Granted: true}}
	r.book.observe(q, answer, time.Now())
	rpc.Respond(answer.Response, nil)
}

// refuse answers a request that raft must not see. A snapshot's bytes follow its request on the connection
// and have to be read away before the next one; the goroutine ends with them or with the connection.
func refuse(rpc raft.RPC, reason error) {
	if rpc.Reader == nil {
		rpc.Respond(nil, reason)
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, rpc.Reader)
		rpc.Respond(nil, reason)
	}()
}

// finish passes on the main goroutine's answer, unless the request has been answered in its place.
func (r *relay) finish(answer raft.RPCResponse) {
	done := r.serving
	r.serving = nil
	r.book.observe(done.rpc.Command, answer, time.Now())
	if !done.answered {
		done.body.afterwards(func() { done.rpc.RespChan <- answer })
	}
	r.rearm()
}

// answerInPlace answers the heartbeats that have waited for long enough. One that the main goroutine has not
// taken yet is dropped: handled later it would pass for fresh contact with a leader that may be gone. One
// that it works on it finishes, and finish discards the answer. One that may not be answered in place waits.
func (r *relay) answerInPlace(now time.Time) {
	if q := r.serving; q != nil && q.overdue(now) {
		q.answered = r.repeat(q, now)
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(q *request) bool {
		return q.overdue(now) && r.repeat(q, now)
	})
	r.rearm()
}

func (r *relay) repeat(q *request, now time.Time) bool {
	response, ok := r.book.repeat(q.heartbeat, now, r.limits.inPlace)
	q.heartbeat = nil
	if ok {
		r.counts.inPlace.Add(1)
		q.rpc.Respond(response, nil)
	}
	return ok
}

// rearm sets the timer to the next heartbeat's time.
func (r *relay) rearm() {
	if next := r.earliest(); next.IsZero() {
		r.busy.Stop()
	} else {
		r.busy.Reset(time.Until(next))
	}
}

// earliest returns when the longest waiting heartbeat will have waited for long enough; zero: none waits.
func (r *relay) earliest() time.Time {
	if r.serving != nil && r.serving.heartbeat != nil {
		return r.serving.due
	}
	for _, q := range r.waiting {
		if q.heartbeat != nil {
			return q.due
		}
	}
	return time.Time{}
}

func (q *request) overdue(now time.Time) bool {
	return q.heartbeat != nil && !now.Before(q.due)
}

// isHeartbeat recognises what raft's heartbeat goroutine sends: neither entries nor a place in the log.
func isHeartbeat(command any) bool {
	a, ok := command.(*raft.AppendEntriesRequest)
	return ok && len(a.Entries) == 0 && a.PrevLogEntry == 0 && a.PrevLogTerm == 0 && a.LeaderCommitIndex == 0
}
