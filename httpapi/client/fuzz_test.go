package client

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"testing"
	"testing/iotest"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// streaming is the way to a peer whose stream of events is these bytes, which come all at
// once or one by one.
type streaming struct {
	data   []byte
	single bool
}

// RoundTrip answers.
func (s *streaming) RoundTrip(r *http.Request) (*http.Response, error) {
	var body io.Reader = bytes.NewReader(s.data)
	if s.single {
		body = iotest.OneByteReader(body)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
}

// followed is what one stream tells, and where it would be gone on from.
func followed(t *testing.T, way *streaming) (out []wire.Notice, after string, err error) {
	t.Helper()
	c, err := New(Options{Addresses: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	c.calls.http.Transport = way
	q := EventQuery{Once: true, After: "before"}
	err = c.Lists().follow(t.Context(), &q, func(n *wire.Notice) error { out = append(out, *n); return nil })
	return out, q.After, err
}

// FuzzEvents: whatever follows on a stream of events, those that came whole are told as
// they were sent, however the bytes arrive, and it is gone on from the last of them.
func FuzzEvents(f *testing.F) {
	sent := []wire.Notice{
		{ID: "3fa90c11-1234-1", Type: "job.queued", Timestamp: time.Unix(1, 5).UTC(), Actor: "user:ann", Target: "job 1"},
		{ID: "3fa90c11-1234-2", Type: "job.failed", Timestamp: time.Unix(2, 0).UTC(), Result: "a\nb \u2028 <&>"},
	}
	whole := []byte(": events follow\n\n")
	for _, n := range sent {
		data, err := json.Marshal(n)
		if err != nil {
			f.Fatal(err)
		}
		whole = append(whole, "id: "+n.ID+"\ndata: "+string(data)+"\n\n"...)
	}
	for _, text := range []string{
		"", ": still here\n\n", "id: 3\r\ndata: {\"id\":\"3\"}\r\n\r\n", "data: {\"id\":\"3\"", "data: {}\n\n", "data: null\n", "data: [", "data:{\"id\":\"3\"}\n\n", "\r", "data: ",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, rest []byte) {
		data := append(bytes.Clone(whole), rest...)
		got, after, err := followed(t, &streaming{data, false})
		if len(got) < len(sent) || !reflect.DeepEqual(got[:len(sent)], sent) {
			t.Fatalf("told were %+v, %v", got, err)
		}
		last := ""
		for _, n := range got {
			if n.ID != "" {
				last = n.ID
			}
		}
		if after != last {
			t.Fatalf("after %+v it is gone on from %q", got, after)
		}
		again, where, second := followed(t, &streaming{data, true})
		if !reflect.DeepEqual(got, again) || where != after || (err == nil) != (second == nil) {
			t.Fatalf("byte by byte told were %+v, %v; at once %+v, %v", again, second, got, err)
		}
		if lines := bytes.Count(rest, []byte("data: ")); len(got) > len(sent)+lines {
			t.Fatalf("%d events came of %d lines", len(got), lines)
		}
	})
}
