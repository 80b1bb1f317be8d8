package nodeapi

import (
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Records finds what ranks run. Its methods may be called from any goroutine.
type Records interface {
	// Record returns what a rank runs; fs.ErrNotExist: the node has no such rank.
	Record(rank model.RankKey) (*agentwire.Record, error)
}

// serveRecord answers with what a rank runs, for a cluster that was restored from a backup and does not know the rank.
func (s *Server) serveRecord(w http.ResponseWriter, r *http.Request) {
	q, err := parse(r.URL.Query())
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
		return
	}
	record, err := s.from.Records.Record(q.rank)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		refuse(w, http.StatusNotFound, wire.CodeNotFound, "this node has no rank "+q.rank.String())
		return
	case err != nil:
		s.log.Error("record_not_read", "rank", q.rank, "err", err)
		refuse(w, http.StatusInternalServerError, wire.CodeInternal, "the record of rank "+q.rank.String()+" cannot be read; see the agent's log")
		return
	}
	data, err := agentwire.Encode(record)
	if err != nil {
		refuse(w, http.StatusInternalServerError, wire.CodeInternal, "the record of rank "+q.rank.String()+" cannot be encoded")
		return
	}
	w.Header().Set("Content-Type", "application/cbor")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit)) // a writer without deadlines has no slow client
	_, _ = w.Write(data)                                                           // a peer that has gone needs no answer
}
