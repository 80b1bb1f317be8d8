package nodeapi

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/tunnel"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// sessions are the streams between programs and servers of steps, by their names.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

// session is a stream to the server of steps of a rank.
type session struct {
	rank   model.RankKey
	stream *tunnel.Stream
}

// find returns the stream of a name to the server of a rank; nil: there is none.
func (s *sessions) find(name string, rank model.RankKey) *tunnel.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[name]; one != nil && one.rank == rank {
		return one.stream
	}
	return nil
}

// add adds a stream, and reports whether its name was free.
func (s *sessions) add(name string, one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[name] != nil {
		return false
	}
	if s.all == nil {
		s.all = map[string]*session{}
	}
	s.all[name] = one
	return true
}

func (s *sessions) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, name)
}

// serveSteps connects a peer to the server of steps of a rank. The stream between both outlives the connection for a while, so that another peer
// can go on with it.
func (s *Server) serveSteps(w http.ResponseWriter, r *http.Request) {
	q, name, resume, err := parseSteps(r.URL.Query())
	if err == nil {
		err = tunnel.Asked(r)
	}
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
		return
	}
	stream := s.sessions.find(name, q.rank)
	switch {
	case resume && stream == nil:
		refuse(w, http.StatusNotFound, wire.CodeNotFound, "this node has no such stream to a server of steps of rank "+q.rank.String())
		return
	case !resume && stream != nil:
		refuse(w, http.StatusConflict, wire.CodeInvalid, "session: there is a stream of this name")
		return
	case !resume:
		if stream = s.openSteps(w, r, q.rank, name); stream == nil {
			return
		}
	}
	conn, err := tunnel.Accept(s.ctx, w, r)
	if err != nil {
		return // the stream waits for the next connection
	}
	_ = stream.Carry(conn) // why it is lost does not matter
	if !stream.Await(tunnel.ResumeFor) {
		stream.Fail(tunnel.ErrLost)
	}
}

// parseSteps parses the query of a tunnel.
func parseSteps(values url.Values) (q query, name string, resume bool, err error) {
	name = values.Get("session")
	resume, _ = strconv.ParseBool(values.Get("resume"))
	values.Del("session")
	values.Del("resume")
	for _, other := range []string{"stream", "tail", "follow"} {
		if values.Has(other) {
			err = errors.New(other + ": is no parameter; job, task, attempt, rank, session and resume are")
		}
	}
	if len(name) != 2*tunnel.SessionBytes {
		err = errors.New("session: must be " + strconv.Itoa(2*tunnel.SessionBytes) + " digits")
	}
	if err == nil {
		q, err = parse(values)
	}
	return q, name, resume, err
}

// openSteps makes a stream to the server of steps of a rank; nil: that failed, and the answer is sent.
func (s *Server) openSteps(w http.ResponseWriter, r *http.Request, rank model.RankKey, name string) *tunnel.Stream {
	server, err := s.from.Steps.Dial(r.Context(), rank)
	if err != nil {
		code, status := wire.CodeInternal, http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) {
			code, status = wire.CodeNotFound, http.StatusNotFound
		}
		s.log.Debug("steps_unreachable", "rank", rank, "err", err)
		refuse(w, status, code, "no server of steps of rank "+rank.String()+" answers on this node")
		return nil
	}
	one := &session{rank: rank, stream: tunnel.NewStream(tunnel.ResumeFor)}
	if !s.sessions.add(name, one) {
		_ = server.Close()
		refuse(w, http.StatusConflict, wire.CodeInvalid, "session: there is a stream of this name")
		return nil
	}
	go func() {
		tunnel.Join(s.ctx, one.stream, server)
		s.sessions.remove(name)
	}()
	return one.stream
}
