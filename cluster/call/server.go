package call

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/conns"
	"github.com/berth-gpu/berth/files/frame"
	"github.com/berth-gpu/berth/fsm/model"
)

const (
	maxConns     = 256              // connections of callers, or to other peers
	greetTimeout = 5 * time.Second  // for a caller's first frame
	idleTimeout  = 2 * time.Minute  // a connection without a call is closed
	frameTimeout = 10 * time.Second // for a frame to come or go whole
	maxErrorText = 1 << 10
)

// errClaim means that a caller claims another id than it has proven.
var errClaim = errors.New("the caller is another peer than it claims to be")

// handler answers one call. from is the id of the caller, which is a claim where the network proves none.
type handler func(ctx context.Context, from model.PeerID, body []byte) ([]byte, error)

// Server answers the calls of other peers on the connections that Admit is given.
type Server struct {
	mu       sync.Mutex
	handlers map[string]handler
	heed     func(from model.PeerID, name string) error // nil: all callers are answered
	serving  map[caller]int                             // calls worked on
	conns    *conns.Set
	ctx      context.Context // of all calls; ends with the server
	cancel   context.CancelFunc
	working  sync.WaitGroup // handlers, started by what serves connections
	log      *slog.Logger
}

// caller is a peer's side of a lane.
type caller struct {
	lane Lane
	id   model.PeerID
}

// NewServer returns a server that answers no call yet. A nil logger logs nothing.
func NewServer(log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{
		handlers: map[string]handler{},
		serving:  map[caller]int{},
		conns:    conns.New(maxConns),
		ctx:      ctx,
		cancel:   cancel,
		log:      log,
	}
}

// handlerKey returns the key of a call among the handlers: a call of one lane is unknown on another.
func handlerKey(lane Lane, name string) string { return string(rune(lane)) + name }

func (s *Server) handle(lane Lane, name string, h handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[handlerKey(lane, name)] = h
}

// Heed has a function decide which calls of which callers are answered: its error is their answer.
func (s *Server) Heed(f func(from model.PeerID, name string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heed = f
}

// Close ends the contexts of all calls and all connections, and waits for the handlers.
func (s *Server) Close() error {
	s.cancel()
	s.conns.Close()
	s.conns.Wait()
	s.working.Wait()
	return nil
}

// Admit serves a caller's connection in a goroutine of its own. proven is the id that the caller has proven; empty: the
// network proves none. A connection that may not stay, and one whose caller claims another id, is closed.
func (s *Server) Admit(conn net.Conn, proven model.PeerID) error {
	c := s.conns.Wrap(conn)
	return s.conns.Start(c, func() {
		defer func() { _ = c.Close() }()
		err := s.serve(c, proven)
		switch {
		case errors.Is(err, errClaim):
			s.log.Warn("connection refused", "from", c.RemoteAddr(), "peer", proven, "reason", err)
		case !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed):
			s.log.Debug("caller's connection ended", "from", c.RemoteAddr(), "reason", err)
		}
	})
}

// connection is one connection as its calls see it.
type connection struct {
	caller caller
	limits bounds
	conn   net.Conn
	turn   chan struct{} // a call that has put its token in may write
}

// serve reads calls until the connection ends, and returns why it did.
func (s *Server) serve(conn net.Conn, proven model.PeerID) error {
	in := bufio.NewReader(conn)
	payload, err := nextFrame(conn, in, greetTimeout, only(frameHello, helloFrame))
	if err != nil {
		return err
	}
	lane, id, err := parseHello(payload)
	if err != nil {
		return err
	}
	if proven != "" && id != string(proven) {
		return fmt.Errorf("%w: %q is claimed, and the certificate is that of %q", errClaim, id, proven)
	}
	limits, _ := lane.bounds()
	from := &connection{caller: caller{lane, model.PeerID(id)}, limits: limits, conn: conn, turn: make(chan struct{}, 1)}
	requests := only(frameRequest, limits.frame)
	for {
		payload, err := nextFrame(conn, in, idleTimeout, requests)
		if err != nil {
			return err
		}
		q, err := parseRequest(payload)
		if err != nil {
			return err
		}
		if !s.begin(from) {
			from.answer(q.id, failure(KindBusy, fmt.Sprintf("%d calls of this peer are worked on: try again", limits.calls)))
			continue
		}
		s.working.Go(func() {
			defer s.end(from)
			from.answer(q.id, s.work(from, q))
		})
	}
}

// begin counts a call, unless the caller has too many.
func (s *Server) begin(from *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving[from.caller] >= from.limits.calls {
		return false
	}
	s.serving[from.caller]++
	return true
}

func (s *Server) end(from *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving[from.caller]--; s.serving[from.caller] == 0 {
		delete(s.serving, from.caller)
	}
}

// nextFrame waits for a frame to begin, and less long for it to be complete.
func nextFrame(conn net.Conn, in *bufio.Reader, patience time.Duration, limit func(kind byte) int) ([]byte, error) {
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(frameTimeout)); err != nil {
		return nil, err
	}
	_, payload, err := frame.Read(in, limit)
	return payload, err
}

func (s *Server) work(from *connection, q request) response {
	s.mu.Lock()
	do, heed := s.handlers[handlerKey(from.caller.lane, q.name)], s.heed
	s.mu.Unlock()
	if heed != nil {
		if err := heed(from.caller.id, q.name); err != nil {
			return failed(err)
		}
	}
	if do == nil {
		return failure(KindUnknown, fmt.Sprintf("this peer does not answer the call %q", q.name))
	}
	ctx, cancel := context.WithTimeout(s.ctx, min(q.budget, from.limits.longest))
	defer cancel()
	body, err := s.run(ctx, do, from, q)
	if err != nil {
		return failed(err)
	}
	if a := (response{body: body}); a.size() <= from.limits.frame {
		return a
	}
	return failure(KindTooLarge, fmt.Sprintf("the answer has %d bytes, more than %d", len(body), from.limits.frame-responseHeader))
}

// run calls a handler. One that panics must not end the process.
func (s *Server) run(ctx context.Context, do handler, from *connection, q request) (body []byte, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			s.log.Error("a call panicked; this is a defect", "call", q.name, "peer", from.caller.id, "reason", reason, "stack", string(debug.Stack()))
			err = errors.New("a defect of the other peer")
		}
	}()
	return do(ctx, from.caller.id, q.body)
}

// failed returns the answer of a call that has failed.
func failed(err error) response {
	if remote, is := errors.AsType[*RemoteError](err); is {
		return failure(remote.Kind, remote.Text)
	}
	return failure(KindFailed, err.Error())
}

func failure(kind Kind, text string) response {
	if kind == "" || len(kind) > maxCallName { // an empty one would read as success
		kind = KindFailed
	}
	return response{kind: kind, body: []byte(text[:min(len(text), maxErrorText)])}
}

// answer writes a response. A caller that does not take it in time loses its connection.
func (c *connection) answer(id uint64, a response) {
	a.id = id
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	err := c.conn.SetWriteDeadline(time.Now().Add(frameTimeout))
	if err == nil {
		_, err = c.conn.Write(a.frame())
	}
	if err != nil {
		_ = c.conn.Close()
	}
}
