package front

import (
	"context"
	"errors"
	"net/http"
)

// mostHead bounds how much of an answer is made for its headers only, in bytes.
const mostHead = 1 << 20

var errHead = errors.New("the request asks for the headers only")

// head answers HEAD with the headers that GET would have (RFC 9110, section 9.3.2). The server drops what is written. An answer that
// comes in parts, such as a stream of events, ends after its headers.
func head(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		get := r.Clone(ctx)
		get.Method = http.MethodGet
		next.ServeHTTP(&headers{ResponseWriter: w, end: cancel}, get)
	})
}

// headers is the answer to a request for headers only.
type headers struct {
	http.ResponseWriter

	end     context.CancelFunc
	written int
}

// Unwrap is for http.ResponseController.
func (h *headers) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Write takes part of the answer.
func (h *headers) Write(data []byte) (int, error) {
	if h.written += len(data); h.written > mostHead {
		h.end()
		return 0, errHead
	}
	return h.ResponseWriter.Write(data)
}

// FlushError sends the headers and ends the answer.
func (h *headers) FlushError() error {
	err := http.NewResponseController(h.ResponseWriter).Flush()
	h.end()
	return err
}

// Flush does what FlushError does.
func (h *headers) Flush() { _ = h.FlushError() }
