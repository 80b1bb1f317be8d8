package raftnet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const maxCallsPerLink = 64 // calls under way on one connection; more wait

var errNoAnswerAwaited = errors.New("an answer that no call waits for")

// link is one connection to another peer with the calls under way on it.
type link struct {
	conn    net.Conn
	address string
	slots   chan struct{}
	turn    chan struct{} // a caller that has put its token in may write
	gone    chan struct{} // closed when the connection is broken

	mu    sync.Mutex
	calls map[uint64]chan callResponse // nil once gone
	ids   uint64
	heard time.Time // when the last answer came
	cause error     // why it is gone
}

func newLink(conn net.Conn, address string) *link {
	return &link{
		conn:    conn,
		address: address,
		slots:   make(chan struct{}, maxCallsPerLink),
		turn:    make(chan struct{}, 1),
		gone:    make(chan struct{}),
		calls:   map[uint64]chan callResponse{},
	}
}

// call sends a request and waits for its answer.
func (l *link) call(ctx context.Context, method uint8, body []byte) (callResponse, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return callResponse{}, notSent(l.address, ctx.Err())
	}
	id, answer, err := l.enter()
	if err != nil {
		return callResponse{}, notSent(l.address, err)
	}
	defer l.leave(id)
	sent := time.Now()
	if err := l.send(ctx, callRequest{id: id, method: method, body: body}); err != nil {
		return callResponse{}, notSent(l.address, err)
	}
	select {
	case response := <-answer:
		return response, nil
	case <-ctx.Done():
		l.suspect(sent)
		return callResponse{}, unknown(l.address, ctx.Err())
	case <-l.gone:
	}
	select {
	case response := <-answer: // it came just before the end
		return response, nil
	default:
		return callResponse{}, unknown(l.address, l.cause)
	}
}

// send writes a frame whole, or ends the connection: the other side then never sees the request, as it
// acts on whole frames only.
func (l *link) send(ctx context.Context, request callRequest) error {
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
	now := time.Now()
	until := now.Add(frameTimeout)
	if deadline, ok := ctx.Deadline(); ok {
		request.budget = max(deadline.Sub(now), time.Millisecond)
		if deadline.Before(until) {
			until = deadline
		}
	}
	err := l.conn.SetWriteDeadline(until)
	if err == nil {
		_, err = l.conn.Write(request.frame())
	}
	if err != nil {
		l.end(err)
	}
	return err
}

func (l *link) enter() (uint64, <-chan callResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		return 0, nil, l.cause
	}
	l.ids++
	answer := make(chan callResponse, 1)
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
	in := bufio.NewReader(l.conn)
	for {
		payload, err := readFrame(in)
		if err != nil {
			l.end(err)
			return
		}
		response, err := parseResponse(payload)
		if err == nil {
			err = l.hand(response)
		}
		if err != nil {
			l.end(err)
			return
		}
	}
}

func (l *link) hand(response callResponse) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if response.id == 0 || response.id > l.ids {
		return fmt.Errorf("%w: %d", errNoAnswerAwaited, response.id)
	}
	l.heard = time.Now()
	if answer := l.calls[response.id]; answer != nil {
		answer <- response
		delete(l.calls, response.id)
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
