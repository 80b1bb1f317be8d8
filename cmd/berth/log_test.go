package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// stuck is a writer that nobody reads until it is let go.
type stuck struct {
	bytes.Buffer

	entered chan struct{}
	free    chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	select {
	case s.entered <- struct{}{}:
	default:
	}
	<-s.free
	return s.Buffer.Write(b)
}

// A log that cannot be written does not make the program wait; what was lost is
// counted once it can be written again.
func TestTheLogNeverWaits(t *testing.T) {
	to := &stuck{entered: make(chan struct{}, 1), free: make(chan struct{})}
	w := newLineWriter(to)
	line := []byte("hello\n")
	_, _ = w.Write(line)
	<-to.entered
	for range logLines + 7 {
		_, _ = w.Write(line)
	}
	w.close(time.Millisecond) // nor does the end wait for it
	close(to.free)
	<-w.ended
	if out := to.String(); strings.Count(out, "hello") != logLines+1 || !strings.Contains(out, "7 lines of the log were dropped") {
		t.Errorf("%d lines were written, and at the end: %q", strings.Count(out, "hello"), out[max(0, len(out)-120):])
	}
}
