package raftnet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

const (
	maxServing   = 128              // calls worked on at a time, of all peers
	maxCallConns = 256              // connections of callers
	idleTimeout  = 2 * time.Minute  // a connection without a call is closed
	frameTimeout = 10 * time.Second // for a frame to come or go whole
	maxErrorText = 1 << 10
)

// Handler answers one call. The context ends with the caller's timeout or with the server; from is the
// advertised address that the caller claims, which only a Network with authentication proves. An error that
// is a *RemoteError goes back as it is, any other with CodeFailed.
type Handler func(ctx context.Context, from string, body []byte) ([]byte, error)

// Server answers other peers' calls on the connections that a Mux gives it.
type Server struct {
	mu       sync.RWMutex
	handlers map[uint8]Handler
	conns    *registry
	slots    chan struct{}
	ctx      context.Context // of all calls; ends with the server
	cancel   context.CancelFunc
	working  sync.WaitGroup // handlers, started by what serves connections
	log      *slog.Logger
}

// NewServer returns a server without methods. A nil logger logs nothing.
func NewServer(log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{
		handlers: map[uint8]Handler{},
		conns:    newRegistry(maxCallConns),
		slots:    make(chan struct{}, maxServing),
		ctx:      ctx,
		cancel:   cancel,
		log:      log,
	}
}

// Handle sets the handler of a method, in place of the former one.
func (s *Server) Handle(method uint8, handler Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[method] = handler
}

// Close ends all calls' contexts and connections and waits for their handlers.
func (s *Server) Close() error {
	s.cancel()
	s.conns.close()
	s.conns.wait()
	s.working.Wait()
	return nil
}

// admit serves a caller's connection in a goroutine of its own.
func (s *Server) admit(conn net.Conn) error {
	c := s.conns.wrap(conn)
	return s.conns.start(c, func() {
		defer func() { _ = c.Close() }()
		if err := s.serve(c); !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
			s.log.Debug("caller's connection ended", "from", c.RemoteAddr(), "reason", err)
		}
	})
}

// caller is one connection as its calls see it.
type caller struct {
	name string
	conn net.Conn
	turn chan struct{} // a call that has put its token in may write
}

// serve reads calls until the connection ends, and returns why it did.
func (s *Server) serve(conn net.Conn) error {
	in := bufio.NewReader(conn)
	payload, err := nextFrame(conn, in, greetTimeout)
	if err != nil {
		return err
	}
	name, err := parseHello(payload)
	if err != nil {
		return err
	}
	from := &caller{name: name, conn: conn, turn: make(chan struct{}, 1)}
	for {
		payload, err := nextFrame(conn, in, idleTimeout)
		if err != nil {
			return err
		}
		call, err := parseRequest(payload)
		if err != nil {
			return err
		}
		select {
		case s.slots <- struct{}{}:
			s.working.Go(func() {
				defer func() { <-s.slots }()
				from.answer(call.id, s.work(from, call))
			})
		default:
			from.answer(call.id, callResponse{code: CodeBusy, body: []byte(ErrBusy.Error())})
		}
	}
}

// nextFrame waits for a frame to begin, and less long for it to be complete.
func nextFrame(conn net.Conn, in *bufio.Reader, patience time.Duration) ([]byte, error) {
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(frameTimeout)); err != nil {
		return nil, err
	}
	return readFrame(in)
}

func (s *Server) work(from *caller, call callRequest) callResponse {
	s.mu.RLock()
	handler := s.handlers[call.method]
	s.mu.RUnlock()
	if handler == nil {
		return callResponse{code: CodeUnknownMethod, body: fmt.Appendf(nil, "unknown method %d", call.method)}
	}
	ctx, cancel := context.WithTimeout(s.ctx, call.budget)
	defer cancel()
	body, err := handler(ctx, from.name, call.body)
	var remote *RemoteError
	switch {
	case errors.As(err, &remote):
		return failure(remote.Code, remote.Text)
	case err != nil:
		return failure(CodeFailed, err.Error())
	case len(body) > MaxBody:
		return failure(CodeTooLarge, fmt.Sprintf("the answer has %d bytes, more than %d", len(body), MaxBody))
	}
	return callResponse{body: body}
}

func failure(code Code, text string) callResponse {
	if code == 0 { // 0 would read as success
		code = CodeFailed
	}
	return callResponse{code: code, body: []byte(text[:min(len(text), maxErrorText)])}
}

// answer writes a response. A caller that does not take it in time loses its connection.
func (c *caller) answer(id uint64, response callResponse) {
	response.id = id
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	err := c.conn.SetWriteDeadline(time.Now().Add(frameTimeout))
	if err == nil {
		_, err = c.conn.Write(response.frame())
	}
	if err != nil {
		_ = c.conn.Close()
	}
}
