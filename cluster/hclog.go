package cluster

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// hclogSink passes raft's log lines on to slog without ever blocking raft: a blocked stderr must not stop
// elections. Lines that do not fit are counted.
type hclogSink struct {
	to      *slog.Logger
	lines   chan line
	dropped atomic.Uint64
	ending  atomic.Bool
	once    sync.Once
	ended   chan struct{}
	quit    chan struct{}
}

type line struct {
	level slog.Level
	text  string
	args  []any
}

func newHclogSink(to *slog.Logger) *hclogSink {
	s := &hclogSink{to: to.With("part", "raft"), lines: make(chan line, 512), ended: make(chan struct{}), quit: make(chan struct{})}
	go s.run()
	return s
}

// logger returns the logger for raft.
func (s *hclogSink) logger() hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Info, Output: io.Discard})
	l.RegisterSink(s)
	return l
}

// Accept takes one line from hclog.
func (s *hclogSink) Accept(_ string, level hclog.Level, text string, args ...any) {
	out := line{text: text, args: make([]any, len(args))}
	for i, a := range args {
		if f, is := a.(hclog.Format); is && len(f) > 0 {
			a = fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
		}
		out.args[i] = a
	}
	switch level {
	case hclog.Error:
		out.level = slog.LevelError
	case hclog.Warn:
		out.level = slog.LevelWarn
	case hclog.Info, hclog.NoLevel:
		out.level = slog.LevelInfo
	case hclog.Debug, hclog.Trace, hclog.Off:
		return
	}
	if s.ending.Load() {
		out.level = slog.LevelDebug
	}
	select {
	case s.lines <- out:
	default:
		s.dropped.Add(1)
	}
}

func (s *hclogSink) run() {
	defer close(s.ended)
	for {
		select {
		case l := <-s.lines:
			s.to.Log(context.Background(), l.level, l.text, l.args...)
			if n := s.dropped.Swap(0); n > 0 {
				s.to.Warn("lines of raft's log were dropped", "lines", n)
			}
		case <-s.quit:
			return
		}
	}
}

// hush lowers the level of raft's further lines to debug: a peer that ends closes connections in use by raft,
// and the resulting errors are expected.
func (s *hclogSink) hush() { s.ending.Store(true) }

func (s *hclogSink) close() {
	s.once.Do(func() { close(s.quit) })
	<-s.ended
}
