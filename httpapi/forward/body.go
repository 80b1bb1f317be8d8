package forward

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// room counts the bytes of requests that are kept, so that many clients together cannot fill the
// memory while there is no leader.
type room struct {
	most int64
	used atomic.Int64
}

func (r *room) take(n int64) bool {
	if r.used.Add(n) <= r.most {
		return true
	}
	r.used.Add(-n)
	return false
}

func (r *room) give(n int64) { r.used.Add(-n) }

// admit reserves room for a request of a size, or refuses the request.
func (f *Forwarder) admit(w http.ResponseWriter, r *http.Request, limit int64) (size int64, ok bool) {
	size = r.ContentLength
	if size < 0 {
		size = limit
	}
	if size > limit {
		f.tooLarge(w, r)
		return 0, false
	}
	size += heldEach
	if !f.held.take(size) {
		f.Refuse(w, r, wire.CodeOverloaded, "too many requests are waiting: try again later")
		return 0, false
	}
	return size, true
}

// read reads the whole body; a client that sends too much or too slowly is cut off.
func (f *Forwarder) read(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	if r.ContentLength == 0 {
		return nil, true
	}
	control := http.NewResponseController(w)
	// A writer without deadlines has no slow client either.
	_ = control.SetReadDeadline(time.Now().Add(bodyLimit))
	body := make([]byte, 0, max(r.ContentLength, 0)+bytes.MinRead)
	buffer := bytes.NewBuffer(body)
	_, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return buffer.Bytes(), true
	case errors.As(err, &large):
		f.tooLarge(w, r)
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		f.Refuse(w, r, wire.CodeTooSlow, "the body did not arrive in time")
	default:
		w.Header().Set("Connection", "close")
		f.Refuse(w, r, wire.CodeMalformed, "the body broke off")
	}
	return nil, false
}

func (f *Forwarder) tooLarge(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	f.Refuse(w, r, wire.CodeTooLarge, "the body is larger than the limit of this path")
}

// reader is the body as a request carries it.
func reader(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }
