package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// stuck is a writer without a reader until it is released.
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
	w := newLineWriter(to, "text")
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

// The log of servers and agents has one line a minute for one cause.
func TestTheLogRepeatsNothing(t *testing.T) {
	var to bytes.Buffer
	w := newLineWriter(&to, "text")
	log := newLog(w, slog.LevelInfo)
	for range 100 {
		log.Error("a rank's folder cannot be read", "rank", "7.0")
	}
	w.close(time.Minute)
	if n := strings.Count(to.String(), "\n"); n != 1 {
		t.Errorf("%d lines", n)
	}
}

// The reason why a peer ends is written even if the log was closed before: its end
// and its halt may come at the same time.
func TestTheLastLineIsWritten(t *testing.T) {
	var to bytes.Buffer
	w := newLineWriter(&to, "text")
	_, _ = w.Write([]byte("before\n"))
	w.close(time.Minute)
	w.last("berth: it must not go on\n", time.Minute)
	if got := to.String(); got != "before\nberth: it must not go on\n" {
		t.Errorf("written is %q", got)
	}
}

// A reader that is gone does not keep a peer that must end.
func TestTheLastLineDoesNotWait(t *testing.T) {
	to := &stuck{entered: make(chan struct{}, 1), free: make(chan struct{})}
	w := newLineWriter(to, "text")
	w.last("lost\n", time.Millisecond)
	close(to.free)
	<-w.ended
}
