package nodeapi

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/berth-gpu/berth/httpapi/tunnel"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// serveSteps connects a peer to the server of steps of a rank.
func (s *Server) serveSteps(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	for _, name := range []string{"stream", "tail", "follow"} {
		if values.Has(name) {
			refuse(w, http.StatusUnprocessableEntity, wire.CodeInvalid, name+": is no parameter; job, task, attempt and rank are")
			return
		}
	}
	q, err := parse(values)
	if err == nil {
		err = tunnel.Asked(r)
	}
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
		return
	}
	server, err := s.from.Steps.Dial(r.Context(), q.rank)
	if err != nil {
		code, status := wire.CodeInternal, http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) {
			code, status = wire.CodeNotFound, http.StatusNotFound
		}
		s.log.Debug("steps_unreachable", "rank", q.rank, "err", err)
		refuse(w, status, code, "no server of steps of rank "+q.rank.String()+" answers on this node")
		return
	}
	peer, err := tunnel.Accept(s.ctx, w, r)
	if err != nil {
		_ = server.Close()
		return
	}
	tunnel.Join(s.ctx, peer, server)
}
