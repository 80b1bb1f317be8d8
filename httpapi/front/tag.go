package front

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
)

// tags gives each JSON answer to GET that has no entity tag a weak one (RFC 9110, section 8.8.3), and answers 304 to a client that has the
// same answer already.
func tags(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		t := &tagged{ResponseWriter: w}
		next.ServeHTTP(t, r)
		t.finish(r.Header.Values("If-None-Match"))
	})
}

// tagged holds an answer back until all of it is known.
type tagged struct {
	http.ResponseWriter

	status int // 0: not yet
	body   []byte
	passes bool // the answer is not held back
}

// Unwrap is for http.ResponseController.
func (t *tagged) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// WriteHeader begins the answer. Errors, other types than JSON, and answers with a tag are passed on.
func (t *tagged) WriteHeader(status int) {
	switch h := t.Header(); {
	case t.passes || status < http.StatusOK:
	case t.status != 0:
		return // the second status of an answer does not count
	case status == http.StatusOK && strings.HasPrefix(h.Get("Content-Type"), "application/json") && h.Get("Etag") == "":
		t.status = status
		return
	default:
		t.status, t.passes = status, true
	}
	t.ResponseWriter.WriteHeader(status)
}

// Write takes part of the answer.
func (t *tagged) Write(data []byte) (int, error) {
	if t.status == 0 {
		t.WriteHeader(http.StatusOK)
	}
	if t.passes {
		return t.ResponseWriter.Write(data)
	}
	t.body = append(t.body, data...)
	return len(data), nil
}

// FlushError passes on what was held back: an answer that is sent in parts has no tag.
func (t *tagged) FlushError() error {
	if t.status == 0 {
		t.WriteHeader(http.StatusOK)
	}
	if !t.passes {
		t.passes = true
		t.ResponseWriter.WriteHeader(t.status)
		if _, err := t.ResponseWriter.Write(t.body); err != nil {
			return err
		}
	}
	return http.NewResponseController(t.ResponseWriter).Flush()
}

// finish sends an answer that was held back, or that the client has it; known is what the client has.
func (t *tagged) finish(known []string) {
	if t.passes || t.status == 0 {
		return
	}
	hash := fnv.New64a()
	_, _ = hash.Write(t.body) // never fails
	tag := fmt.Sprintf(`W/"%x"`, hash.Sum64())
	t.Header().Set("Etag", tag)
	if slices.ContainsFunc(known, func(list string) bool {
		return slices.ContainsFunc(strings.Split(list, ","), func(one string) bool { return strings.TrimSpace(one) == tag })
	}) {
		t.Header().Del("Content-Type")
		t.ResponseWriter.WriteHeader(http.StatusNotModified)
		return
	}
	t.ResponseWriter.WriteHeader(t.status)
	_, _ = t.ResponseWriter.Write(t.body) // a client that has left needs no answer
}
