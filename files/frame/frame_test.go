package frame

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"
)

// most is the bound of the tests: kinds up to 'Z' have bodies of up to a megabyte, and others are unknown.
func most(kind byte) int {
	if kind > 'Z' {
		return -1
	}
	return 1 << 20
}

// TestFrames checks that frames arrive as they were sent, one after the other.
func TestFrames(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("large"), 100_000)
	wire := bytes.NewReader(Append(Append(Append(nil, 'A'), 'B', []byte("bo"), nil, []byte("dy")), 'C', large))
	for _, want := range []struct {
		kind byte
		body []byte
	}{{'A', nil}, {'B', []byte("body")}, {'C', large}} {
		if kind, body, err := Read(wire, most); err != nil || kind != want.kind || !bytes.Equal(body, want.body) {
			t.Errorf("kind %q, %d bytes, %v; it should be %q with %d", kind, len(body), err, want.kind, len(want.body))
		}
	}
	if _, _, err := Read(wire, most); !errors.Is(err, io.EOF) {
		t.Error("at the end:", err)
	}
}

// TestBadFrames checks that what is no frame is refused, and that one that ends early is not the end of the stream.
func TestBadFrames(t *testing.T) {
	t.Parallel()
	good := Append(nil, 'A', []byte("body"))
	for name, c := range map[string]struct {
		wire []byte
		want error
	}{
		"cut in the header": {good[:3], io.ErrUnexpectedEOF},
		"cut in the body":   {good[:len(good)-1], io.ErrUnexpectedEOF},
		"cut before a body": {good[:Header], io.ErrUnexpectedEOF},
		"cut, large":        {append([]byte{'A', 0, 15, 0, 0}, make([]byte, firstRead)...), io.ErrUnexpectedEOF},
		"too large":         {[]byte{'A', 0, 16, 0, 1}, ErrMalformed},
		"unknown kind":      {Append(nil, 'z'), ErrMalformed},
	} {
		if _, _, err := Read(bytes.NewReader(c.wire), most); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestAClaimedLengthCostsLittle checks that a length is believed only as far as data follows.
func TestAClaimedLengthCostsLittle(t *testing.T) { // not parallel: it counts memory
	claim := []byte{'A', 0, 15, 255, 255}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, _, err := Read(bytes.NewReader(claim), most); err == nil {
			t.Fatal("a frame was read that is not there")
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / 100; got > 4*firstRead {
		t.Errorf("a claim of a megabyte without data cost %d bytes", got)
	}
}

// FuzzRead checks that any bytes are read as the frames that they begin with, or refused.
func FuzzRead(f *testing.F) {
	f.Add(Append(nil, 'A', []byte("body")))
	f.Add(Append(Append(nil, 'A'), 'B', make([]byte, 300)))
	f.Add([]byte{'A', 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{'z', 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, wire []byte) {
		in := bytes.NewReader(wire)
		for at := 0; ; {
			kind, body, err := Read(in, most)
			if err != nil {
				return
			}
			frame := Append(nil, kind, body)
			if len(body) > most(kind) || !bytes.HasPrefix(wire[at:], frame) {
				t.Fatalf("%q with %x was read from %x", kind, body, wire[at:])
			}
			at += len(frame)
		}
	})
}
