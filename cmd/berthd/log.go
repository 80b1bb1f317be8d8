package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/loglimit"
)

// logLines is the most lines that may wait to be written.
const logLines = 4096

// lineWriter writes lines in a goroutine of its own, so that a terminal or a pipe without a reader
// never blocks the program: a leader that waits for its log loses leadership. Lines that do not fit
// are dropped and counted.
type lineWriter struct {
	to      io.Writer
	lines   chan []byte
	dropped atomic.Uint64
	quit    chan struct{}
	once    sync.Once
	ended   chan struct{}
}

func newLineWriter(to io.Writer) *lineWriter {
	w := &lineWriter{to: to, lines: make(chan []byte, logLines), quit: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

// newLog returns a log of text lines on w, in which no cause of warnings and errors has more than a
// line a minute.
func newLog(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(loglimit.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})))
}

// Write queues one line, or drops it. It never fails.
func (w *lineWriter) Write(line []byte) (int, error) {
	select {
	case w.lines <- bytes.Clone(line):
	default:
		w.dropped.Add(1)
	}
	return len(line), nil
}

func (w *lineWriter) run() {
	defer close(w.ended)
	for {
		select {
		case line := <-w.lines:
			w.put(line)
		case <-w.quit:
			w.drain()
			return
		}
	}
}

func (w *lineWriter) drain() {
	for {
		select {
		case line := <-w.lines:
			w.put(line)
		default:
			return
		}
	}
}

// put writes a line. A failure to write the log has no place where it could be reported.
func (w *lineWriter) put(line []byte) {
	_, _ = w.to.Write(line)
	if n := w.dropped.Swap(0); n > 0 {
		fmt.Fprintf(w.to, "berth: %d lines of the log were dropped, since standard error was not read in time\n", n)
	}
}

// close writes the queued lines, for at most the given time.
func (w *lineWriter) close(limit time.Duration) {
	w.once.Do(func() { close(w.quit) })
	select {
	case <-w.ended:
	case <-time.After(limit):
	}
}

// last closes the log and writes one more line, for at most the given time, even if the log is
// already closed: a line that is only queued would not be written then.
func (w *lineWriter) last(line string, limit time.Duration) {
	begun := time.Now()
	w.close(limit)
	written := make(chan struct{})
	go func() {
		defer close(written)
		<-w.ended
		_, _ = io.WriteString(w.to, line)
	}()
	select {
	case <-written:
	case <-time.After(limit - time.Since(begun)):
	}
}
