package call

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"
)

const maxFrame = 4 << 20

func TestFramesRoundTrip(t *testing.T) {
	q := request{id: 7, name: "echo", budget: 1500 * time.Millisecond, body: []byte("body")}
	a := response{id: 7, kind: KindBusy, body: []byte("text")}
	wire := bytes.NewBuffer(append(append(q.frame(), a.frame()...), hello(Bulk, "n1")...))
	payload, err := readFrame(wire, maxFrame)
	if got, perr := parseRequest(payload); err != nil || perr != nil || !bytes.Equal(got.frame(), q.frame()) {
		t.Errorf("request: %+v, %v, %v", got, err, perr)
	}
	payload, err = readFrame(wire, maxFrame)
	if got, perr := parseResponse(payload); err != nil || perr != nil || !bytes.Equal(got.frame(), a.frame()) {
		t.Errorf("response: %+v, %v, %v", got, err, perr)
	}
	payload, err = readFrame(wire, maxFrame)
	if lane, got, perr := parseHello(payload); err != nil || perr != nil || got != "n1" || lane != Bulk {
		t.Errorf("hello: %q on lane %s, %v, %v", got, lane, err, perr)
	}
	if _, err = readFrame(wire, maxFrame); !errors.Is(err, io.EOF) {
		t.Error("at the end:", err)
	}
}

func TestBadFrames(t *testing.T) {
	good := request{id: 1, body: []byte("body")}.frame()
	flipped := bytes.Clone(good)
	flipped[len(flipped)-1] ^= 1
	huge := binary.BigEndian.AppendUint32(nil, maxFrame+1)
	for name, c := range map[string]struct {
		frame []byte
		want  error
	}{
		"flipped bit": {flipped, errFrame},
		"cut short":   {good[:len(good)-1], io.ErrUnexpectedEOF},
		"too large":   {append(huge, 0, 0, 0, 0), errFrame},
	} {
		if _, err := readFrame(bytes.NewReader(c.frame), maxFrame); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestClaimedSizeIsNotAllocated: a length is believed only as far as data follows.
func TestClaimedSizeIsNotAllocated(t *testing.T) {
	claim := append(binary.BigEndian.AppendUint32(nil, maxFrame), 0, 0, 0, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, err := readFrame(bytes.NewReader(claim), maxFrame); err == nil {
			t.Fatal("read a frame that is not there")
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / 100; got > 4*firstRead {
		t.Errorf("a claim of %d bytes without data cost %d", maxFrame, got)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(request{id: 1, name: "echo", body: []byte("body")}.frame())
	f.Add(response{id: 1, kind: KindFailed, body: []byte("text")}.frame())
	f.Add(hello(Control, "name"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, wire []byte) {
		payload, err := readFrame(bytes.NewReader(wire), maxFrame)
		if err != nil {
			return
		}
		if frame := seal(append(make([]byte, frameHeader), payload...)); !bytes.HasPrefix(wire, frame) {
			t.Fatalf("%x was read from %x", payload, wire)
		}
		if q, err := parseRequest(payload); err == nil && !bytes.Equal(q.frame()[frameHeader:], payload) {
			t.Fatalf("request %x became %+v", payload, q)
		}
		if a, err := parseResponse(payload); err == nil && !bytes.Equal(a.frame()[frameHeader:], payload) {
			t.Fatalf("response %x became %+v", payload, a)
		}
		if _, id, err := parseHello(payload); err == nil && len(id) > maxCaller {
			t.Fatalf("an id of %d bytes", len(id))
		}
	})
}
