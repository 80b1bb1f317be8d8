package call

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/berth-gpu/berth/files/frame"
)

const maxFrame = 4 << 20

// body returns the body of a frame that is alone.
func body(t *testing.T, kind byte, wire []byte) []byte {
	t.Helper()
	_, payload, err := frame.Read(bytes.NewReader(wire), only(kind, maxFrame))
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

func TestFramesRoundTrip(t *testing.T) {
	q := request{id: 7, name: "echo", budget: 1500 * time.Millisecond, body: []byte("body")}
	if got, err := parseRequest(body(t, frameRequest, q.frame())); err != nil || !bytes.Equal(got.frame(), q.frame()) {
		t.Errorf("request: %+v, %v", got, err)
	}
	a := response{id: 7, kind: KindBusy, body: []byte("text")}
	if got, err := parseResponse(body(t, frameAnswer, a.frame())); err != nil || !bytes.Equal(got.frame(), a.frame()) {
		t.Errorf("response: %+v, %v", got, err)
	}
	if lane, got, err := parseHello(body(t, frameHello, hello(Bulk, "n1"))); err != nil || got != "n1" || lane != Bulk {
		t.Errorf("hello: %q on lane %s, %v", got, lane, err)
	}
	if _, _, err := frame.Read(bytes.NewReader(q.frame()), only(frameAnswer, maxFrame)); !errors.Is(err, frame.ErrMalformed) {
		t.Errorf("a request in place of an answer: %v", err)
	}
}

// FuzzBodies checks that bodies are read as what they were made of, or refused.
func FuzzBodies(f *testing.F) {
	for _, wire := range [][]byte{
		request{id: 1, name: "echo", body: []byte("body")}.frame(), response{id: 1, kind: KindFailed, body: []byte("text")}.frame(),
		hello(Control, "name"),
	} {
		f.Add(wire[frame.Header:])
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if q, err := parseRequest(payload); err == nil && !bytes.Equal(q.frame()[frame.Header:], payload) {
			t.Fatalf("request %x became %+v", payload, q)
		}
		if a, err := parseResponse(payload); err == nil && !bytes.Equal(a.frame()[frame.Header:], payload) {
			t.Fatalf("response %x became %+v", payload, a)
		}
		if _, id, err := parseHello(payload); err == nil && len(id) > maxCaller {
			t.Fatalf("an id of %d bytes", len(id))
		}
	})
}
