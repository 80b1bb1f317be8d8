package call

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/files/frame"
)

// suspectAfter is how long a call must have waited before its end by time makes the connection suspect: one that
// had little time left shows nothing of the connection, and neither does a caller that leaves.
const suspectAfter = 400 * time.Millisecond

// writeLeast is how long a frame may take at least: a caller with little time left must not end the connection
// for all others.
const writeLeast = 250 * time.Millisecond

var errNoAnswerAwaited = errors.New("an answer that no call waits for")

// link is one connection to another peer with the calls under way on it.
type link struct {
	conn   net.Conn
	limits bounds
	slots  chan struct{} // one for each call under way; more calls wait
	turn   chan struct{} // a caller that has put its token in may write
	gone   chan struct{} // closed when the connection is broken

	mu    sync.Mutex
	calls map[uint64]chan response // nil once gone
	ids   uint64
	heard time.Time // when the last answer came
	cause error     // why it is gone
}

func newLink(conn net.Conn, limits bounds) *link {
	return &link{
		conn:   conn,
		limits: limits,
		slots:  make(chan struct{}, limits.calls),
		turn:   make(chan struct{}, 1),
		gone:   make(chan struct{}),
		calls:  map[uint64]chan response{},
	}
}

// call sends a request and waits for its answer.
func (l *link) call(ctx context.Context, to peer.Server, q request) (response, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return response{}, notSent(to, ctx.Err())
	}
	id, answer, err := l.enter()
	if err != nil {
		return response{}, notSent(to, err)
	}
	defer l.leave(id)
	q.id = id
	sent := time.Now()
	if err := l.send(ctx, q); err != nil {
		return response{}, notSent(to, err)
	}
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && time.Since(sent) >= suspectAfter {
			l.suspect(sent)
		}
		return response{}, unknown(to, ctx.Err())
	case <-l.gone:
	}
	select {
	case a := <-answer: // it came just before the end
		return a, nil
	default:
		return response{}, unknown(to, l.cause)
	}
}

// send writes a frame whole, or ends the connection: the other side then never sees the request, as it
// acts on whole frames only.
func (l *link) send(ctx context.Context, q request) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-l.gone:
		return l.cause
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now, limit := time.Now(), frameTimeout
	if deadline, ok := ctx.Deadline(); ok {
		q.budget = max(deadline.Sub(now), time.Millisecond)
		limit = min(limit, max(deadline.Sub(now), writeLeast))
	}
	err := l.conn.SetWriteDeadline(now.Add(limit))
	if err == nil {
		_, err = l.conn.Write(q.frame())
	}
	if err != nil {
		l.end(err)
	}
	return err
}

func (l *link) enter() (uint64, <-chan response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		return 0, nil, l.cause
	}
	l.ids++
	answer := make(chan response, 1)
	l.calls[l.ids] = answer
	return l.ids, answer, nil
}

func (l *link) leave(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, id)
}

// read passes answers to their calls until the connection ends. An answer that came too late is dropped.
func (l *link) read() {
	in, bounds := bufio.NewReader(l.conn), only(frameAnswer, l.limits.frame)
	for {
		_, payload, err := frame.Read(in, bounds)
		if err != nil {
			l.end(err)
			return
		}
		a, err := parseResponse(payload)
		if err == nil {
			err = l.hand(a)
		}
		if err != nil {
			l.end(err)
			return
		}
	}
}

func (l *link) hand(a response) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.id == 0 || a.id > l.ids {
		return fmt.Errorf("%w: %d", errNoAnswerAwaited, a.id)
	}
	l.heard = time.Now()
	if answer := l.calls[a.id]; answer != nil {
		answer <- a
		delete(l.calls, a.id)
	}
	return nil
}

// suspect ends a connection on which nothing came since a call that has timed out: the other peer, or the way
// to it, may be gone without notice.
func (l *link) suspect(since time.Time) {
	l.mu.Lock()
	silent := !l.heard.After(since)
	l.mu.Unlock()
	if silent {
		l.end(errors.New("no answer to an earlier call"))
	}
}

// end closes the connection and fails the calls under way.
func (l *link) end(cause error) {
	l.mu.Lock()
	first := l.calls != nil
	if first {
		l.calls, l.cause = nil, cause
		close(l.gone)
	}
	l.mu.Unlock()
	if first {
		_ = l.conn.Close()
	}
}

// retire ends a connection that no call uses, and reports whether it did.
func (l *link) retire() bool {
	l.mu.Lock()
	idle := len(l.calls) == 0
	l.mu.Unlock()
	if idle {
		l.end(errors.New("unused for long"))
	}
	return idle
}

func (l *link) dead() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}
