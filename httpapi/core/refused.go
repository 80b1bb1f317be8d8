package core

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// noting wraps a handler of writes and the check of its caller: their own refusals are recorded,
// since they do not reach the log.
func (a *API) noting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		next.ServeHTTP(rec, r)
		if rec.status >= http.StatusBadRequest && rec.status < http.StatusInternalServerError && !callerOf(r.Context()).proposed {
			a.noteRefusal(rec, r, rec.status, rec.Header().Get(wire.HeaderCode))
		}
	})
}

// maxNotedPath bounds the path in a record of a refusal, in bytes.
const maxNotedPath = 512

// noteRefusal records a refusal. Code that refuses a request before its handler calls this function
// before it answers: a request without an id gets one, which the answer contains.
func (a *API) noteRefusal(w http.ResponseWriter, r *http.Request, status int, code string) {
	path := r.URL.Path
	a.Peer.Refusals.Refused(archive.Refusal{
		Time: a.Config.Now().UTC(), From: SenderOf(r.Context()), Actor: auth.From(r.Context()).Actor(), Method: r.Method,
		Path: path[:min(len(path), maxNotedPath)], Request: refusedID(w, r), Status: status, Code: code,
	})
}

// refusedID returns the id of a refused request. A value that is not a valid id counts as none.
func refusedID(w http.ResponseWriter, r *http.Request) string {
	id := r.Header.Get(wire.HeaderRequestID)
	if id == "" {
		drawn, err := uuid.NewV7()
		if err != nil {
			return ""
		}
		id = drawn.String()
		w.Header().Set(wire.HeaderRequestID, id)
	}
	if !model.Text(id, model.MaxRequestID) {
		return ""
	}
	return id
}
