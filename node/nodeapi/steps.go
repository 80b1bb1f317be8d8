package nodeapi

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/tunnel"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// serveSteps connects a peer to the server of steps of a rank. The stream between the caller and the server outlives the connection for a
// while, so that another peer, or the next agent of this node, can go on with it.
func (s *Server) serveSteps(w http.ResponseWriter, r *http.Request) {
	q, name, resume, err := parseSteps(r.URL.Query())
	if err == nil {
		err = tunnel.Asked(r)
	}
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
		return
	}
	server, err := s.from.Steps.Dial(r.Context(), q.rank)
	if err == nil {
		if err = tunnel.Introduce(server, name, resume); err != nil {
			_ = server.Close()
		}
	}
	if err != nil {
		s.log.Debug("steps_unreachable", "rank", q.rank, "err", err)
		refuseSteps(w, q.rank, err)
		return
	}
	caller, err := tunnel.Accept(s.ctx, w, r)
	if err != nil {
		_ = server.Close() // the stream waits for the next connection
		return
	}
	tunnel.Join(s.ctx, caller, server)
}

// refuseSteps answers that there is no tunnel to the server of steps of a rank.
func refuseSteps(w http.ResponseWriter, rank model.RankKey, err error) {
	switch {
	case errors.Is(err, tunnel.ErrNoSession):
		refuse(w, http.StatusGone, wire.CodeNotFound, "the server of steps of rank "+rank.String()+" has no such stream")
	case errors.Is(err, tunnel.ErrSessionTaken):
		refuse(w, http.StatusConflict, wire.CodeInvalid, "session: there is a stream of this name")
	case errors.Is(err, fs.ErrNotExist):
		refuse(w, http.StatusNotFound, wire.CodeNotFound, "no server of steps of rank "+rank.String()+" answers on this node")
	default:
		refuse(w, http.StatusInternalServerError, wire.CodeInternal, "the server of steps of rank "+rank.String()+" does not answer")
	}
}

// parseSteps parses the query of a tunnel.
func parseSteps(values url.Values) (q query, name []byte, resume bool, err error) {
	session := values.Get("session")
	resume, _ = strconv.ParseBool(values.Get("resume"))
	values.Del("session")
	values.Del("resume")
	for _, other := range []string{"stream", "tail", "follow"} {
		if values.Has(other) {
			err = errors.New(other + ": is no parameter; job, task, attempt, rank, session and resume are")
		}
	}
	if name, _ = hex.DecodeString(session); len(name) != tunnel.SessionBytes {
		err = errors.New("session: must be " + strconv.Itoa(2*tunnel.SessionBytes) + " hexadecimal digits")
	}
	if err == nil {
		q, err = parse(values)
	}
	return q, name, resume, err
}
