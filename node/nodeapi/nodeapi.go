// Package nodeapi is the HTTP server of an agent for the peers: the output of the ranks on its node, the
// measurements of its GPUs, and tunnels to the servers of steps of jobs.
//
//	GET /node/healthz
//	GET /node/logs?job=17&task=0&attempt=1&rank=0&stream=stdout&tail=100&follow=true
//	GET /node/gpus/history?minutes=15&steps=60
//	GET /node/record?job=17&task=0&attempt=1&rank=0
//	GET /node/steps?job=17&task=0&attempt=1&rank=0&session=0123456789abcdef0123456789abcdef
//
// A request consists of numbers and two words only: no name of a file comes from outside. With tail the
// answer begins with that many last lines; with follow it goes on until the rank has ended and everything is
// sent. A part of the output that was dropped for its size is left out, and a line says so.
//
// With bytes, offset, before or limit_bytes the answer consists of bytes of the output only, and headers say where they stand; an answer
// ends where a part was dropped. With grep it consists of the lines that have a text.
//
// A slow reader is cut off: each piece must be read within a limit.
package nodeapi

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The paths.
const (
	PathHealth  = "/node/healthz"
	PathLogs    = "/node/logs"
	PathHistory = "/node/gpus/history"
	PathRecord  = "/node/record"
	PathSteps   = "/node/steps"
)

// Bounds of a connection.
const (
	headerLimit = 5 * time.Second
	writeLimit  = 30 * time.Second // for each piece
	idleLimit   = 2 * time.Minute
	maxHeader   = 16 << 10
)

// Stream is one of a job's two outputs.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Logs finds output. Its methods may be called from any goroutine.
type Logs interface {
	// Open opens the output that a rank has written so far; fs.ErrNotExist: there is none.
	Open(model.RankKey, Stream) (*os.File, error)
	// Ended reports whether the rank no longer writes.
	Ended(model.RankKey) bool
}

// Steps finds the servers of steps. Its methods may be called from any goroutine.
type Steps interface {
	// Dial connects to the server of steps of a rank; fs.ErrNotExist: there is none, or not yet.
	Dial(context.Context, model.RankKey) (net.Conn, error)
}

// Sources are what a server serves.
type Sources struct {
	Logs    Logs
	History History
	Steps   Steps
	Records Records
}

// Server serves a node's API.
type Server struct {
	from Sources
	http *http.Server
	log  *slog.Logger

	ctx context.Context // ends tunnels
	end context.CancelFunc
}

// New returns a server with a name, "host:port", by which peers ask; IP addresses and localhost count in any case.
func New(from Sources, log *slog.Logger, names ...string) *Server {
	s := &Server{from: from, log: log}
	s.ctx, s.end = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathHealth, s.health)
	mux.HandleFunc("GET "+PathLogs, s.serveLogs)
	mux.HandleFunc("GET "+PathHistory, s.serveHistory)
	mux.HandleFunc("GET "+PathSteps, s.serveSteps)
	mux.HandleFunc("GET "+PathRecord, s.serveRecord)
	s.http = &http.Server{
		Handler: named(mux, names...), ReadHeaderTimeout: headerLimit, ReadTimeout: headerLimit, IdleTimeout: idleLimit,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve answers on a listener until Close; then it returns nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close closes all connections.
func (s *Server) Close() error {
	s.end()
	return s.http.Close()
}

// named passes requests that name this node by an address, as localhost, or by one of its names. A page of another site, whose
// name was made to resolve to this node, sends that name.
func named(next http.Handler, names ...string) http.Handler {
	hosts := endpoint.NewHosts(names...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hosts.HasOrIP(r.Host) {
			refuse(w, http.StatusMisdirectedRequest, wire.CodeMisdirected, "the Host header does not name this node: use its IP address or agent.advertise")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

func (s *Server) serveLogs(w http.ResponseWriter, r *http.Request) {
	q, err := parse(r.URL.Query())
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
		return
	}
	f, err := s.from.Logs.Open(q.rank, q.stream)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || !q.follow || s.from.Logs.Ended(q.rank)) {
		code, status := wire.CodeInternal, http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) {
			code, status = wire.CodeNotFound, http.StatusNotFound
		}
		refuse(w, status, code, "this node has no "+string(q.stream)+" of rank "+q.rank.String())
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set(wire.HeaderSource, "node")
	switch {
	case q.grep != "":
		err = s.sendMatches(r.Context(), w, f, &q)
	case q.bytes:
		err = s.sendBytes(r.Context(), w, f, &q)
	default:
		err = s.send(r.Context(), newSender(w), f, q)
	}
	if err != nil {
		newSender(w).abort()
	}
}

func refuse(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", wire.ProblemType)
	w.Header().Set(wire.HeaderCode, code)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(&wire.Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail})
}
