package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Open sends a request that waits, in the background. One that goes on until the test's
// end gets no reply.
func (s *Site) Open(path, token string) <-chan *Reply { return s.OpenWith(path, As(token)...) }

// OpenWith is open with headers in pairs.
func (s *Site) OpenWith(path string, headers ...string) <-chan *Reply {
	method, body := http.MethodGet, ""
	if path == agentwire.PathDesired {
		data, err := agentwire.Encode(&agentwire.Poll{Node: "n1", After: 1 << 40, Wait: time.Minute})
		if err != nil {
			s.T.Fatal(err)
		}
		method, body = http.MethodPost, string(data)
	}
	r, err := http.NewRequestWithContext(s.T.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.T.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	ch := make(chan *Reply, 1)
	go func() {
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			return
		}
		defer func() { _ = got.Body.Close() }()
		if data, err := io.ReadAll(got.Body); err == nil {
			ch <- &Reply{s.T, got.StatusCode, got.Header, data}
		}
	}()
	return ch
}

// Settled waits until so many sessions are reviewed.
func (s *Site) Settled(n int) {
	s.T.Helper()
	for s.API.Held() < n {
		select {
		case <-s.T.Context().Done():
			s.T.Fatal("the requests do not wait")
		case <-time.After(time.Millisecond):
		}
	}
}

// Closed fails unless an answer ends with the reason that it must end for: as a problem
// where nothing of it had been sent, else at the end of the stream.
func (r *Reply) Closed(path, code string) {
	r.t.Helper()
	last, found := r.Body, true
	switch {
	case strings.HasPrefix(path, "/events"):
		if _, last, found = bytes.Cut(r.Body, []byte("event: "+wire.EventClosed+"\ndata: ")); r.Status != http.StatusOK {
			found = false
		}
	case strings.Contains(path, "follow"):
		if !bytes.HasPrefix(r.Body, []byte("first\n\nberth: the output ends here: ")) || r.Status != http.StatusOK {
			r.t.Errorf("%s: %d %q", path, r.Status, r.Body)
		}
		return
	}
	var p wire.Problem
	if err := json.Unmarshal(last, &p); !found || err != nil || p.Code != code || p.Status == http.StatusOK {
		r.t.Errorf("%s: %d %q does not end with %s", path, r.Status, r.Body, code)
	}
}

// Async asks in the background.
func (s *Site) Async(path string) <-chan *Reply {
	ch := make(chan *Reply, 1)
	go func() { ch <- s.Do(http.MethodGet, path, "") }()
	return ch
}
