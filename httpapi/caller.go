package httpapi

import (
	"context"
	"net"
	"net/http"

	"github.com/google/uuid"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// caller is who sent a request, for the audit trail.
type caller struct {
	from     string // address
	proposed bool   // what the request asked for has come to the log, which tells what became of it
}

type callerKey struct{}

// withCaller notes where a request comes from. A peer that passes a request on says
// where it had it from; anybody else's word for it does not count.
func withCaller(r *http.Request) *http.Request {
	from := r.Header.Get(wire.HeaderClient)
	if from == "" || r.Header.Get(wire.HeaderForwarded) == "" {
		from = ""
		if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
			from = host
		}
		r.Header.Set(wire.HeaderClient, from)
	}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, &caller{from: from}))
}

func callerOf(ctx context.Context) *caller {
	if c, known := ctx.Value(callerKey{}).(*caller); known {
		return c
	}
	return &caller{}
}

// proposing notes that a request's command comes to the log, and returns where the
// request comes from.
func proposing(ctx context.Context) (from string) {
	c := callerOf(ctx)
	c.proposed = true
	return c.from
}

// refusing keeps what is refused without the log hearing of it.
type refusing struct{ *API }

// noting is around a handler of writes and who confirms them: what they refuse by
// themselves is kept, since the log never hears of it.
func (a refusing) noting(next http.Handler) http.Handler {
	if a.peer.Refusals == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		next.ServeHTTP(rec, r)
		if rec.status >= http.StatusBadRequest && rec.status < http.StatusInternalServerError && !callerOf(r.Context()).proposed {
			a.noteRefusal(rec, r, rec.status, rec.Header().Get(wire.HeaderCode))
		}
	})
}

// maxNotedPath bounds the path of a refusal that is kept, in bytes.
const maxNotedPath = 512

// noteRefusal keeps a refusal. Who refuses a request before it comes to a handler
// calls it, too, before it answers: a request that has no id yet gets one, which the
// answer names.
func (a refusing) noteRefusal(w http.ResponseWriter, r *http.Request, status int, code string) {
	if a.peer.Refusals == nil {
		return
	}
	path := r.URL.Path
	a.peer.Refusals.Refused(archive.Refusal{
		Time: a.cfg.Now().UTC(), From: callerOf(r.Context()).from, Actor: auth.From(r.Context()).Actor(), Method: r.Method,
		Path: path[:min(len(path), maxNotedPath)], Request: refusedID(w, r), Status: status, Code: code,
	})
}

// refusedID is the id of a request that is refused. One that nobody would take as an id
// is none.
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
