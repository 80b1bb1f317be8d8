package gossip

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
)

const (
	notesQueued = 256              // lines waiting for a slow logger
	notesBurst  = 50               // lines written in one notesWindow
	notesWindow = 10 * time.Second // a stranger sending rubbish must not fill the disk with complaints
	noteBytes   = 512              // of one line
	notesFlush  = time.Second      // for what is queued at the end
)

// notes carries lines to the logger from places that must not wait: memberlist logs, and calls us back, while
// it holds its lock, and a logger can block for as long as the other end of stderr is not read. Lines beyond
// the queue or the rate are counted and dropped.
type notes struct {
	out     *slog.Logger
	queue   chan note
	dropped atomic.Int64
	stop    chan struct{}
	done    chan struct{}
}

type note struct {
	level slog.Level
	text  string
	attrs []slog.Attr
}

func newNotes(out *slog.Logger) *notes {
	if out == nil {
		out = slog.New(slog.DiscardHandler)
	}
	n := &notes{
		out:   out.With(slog.String("component", "gossip")),
		queue: make(chan note, notesQueued),
		stop:  make(chan struct{}),
		done:  make(chan struct{}),
	}
	go n.run()
	return n
}

// add queues a line. It never waits.
func (n *notes) add(level slog.Level, text string, attrs ...slog.Attr) {
	if !n.out.Enabled(context.Background(), level) {
		return
	}
	select {
	case n.queue <- note{level, text, attrs}:
	default:
		n.dropped.Add(1)
	}
}

// Write takes one line of memberlist's log.
func (n *notes) Write(line []byte) (int, error) {
	level, text := parseLine(string(line[:min(len(line), noteBytes)]))
	n.add(level, text)
	return len(line), nil
}

// parseLine splits "[WARN] memberlist: text" into its parts. A line without a
// known level is a warning.
func parseLine(line string) (slog.Level, string) {
	level, text := slog.LevelWarn, strings.TrimSpace(line)
	if name, rest, ok := strings.Cut(text, "] "); ok && strings.HasPrefix(name, "[") {
		text = rest
		switch name[1:] {
		case "TRACE", "DEBUG":
			level = slog.LevelDebug
		case "INFO":
			level = slog.LevelInfo
		case "ERR", "ERROR":
			level = slog.LevelError
		}
	}
	return level, strings.TrimPrefix(text, "memberlist: ")
}

// run passes queued lines to the logger until it is stopped and none is left.
func (n *notes) run() {
	defer close(n.done)
	var w window
	for {
		select {
		case l := <-n.queue:
			n.write(&w, l)
			continue
		default:
		}
		select {
		case l := <-n.queue:
			n.write(&w, l)
		case <-n.stop:
			return
		}
	}
}

// write passes one line on, with the number of those that were dropped before
// it.
func (n *notes) write(w *window, l note) {
	if !w.admit(time.Now()) {
		n.dropped.Add(1)
		return
	}
	if d := n.dropped.Swap(0); d > 0 {
		l.attrs = append(l.attrs, slog.Int64("dropped_before", d))
	}
	n.out.LogAttrs(context.Background(), l.level, l.text, l.attrs...)
}

// close waits for queued lines to be written, but not for ever for a logger
// that blocks.
func (n *notes) close() {
	select {
	case <-n.stop:
		return
	default:
		close(n.stop)
	}
	select {
	case <-n.done:
	case <-time.After(notesFlush):
	}
}

// window admits a burst of lines in each stretch of time.
type window struct {
	start time.Time
	count int
}

func (w *window) admit(now time.Time) bool {
	if now.Sub(w.start) >= notesWindow {
		w.start, w.count = now, 0
	}
	w.count++
	return w.count <= notesBurst
}
