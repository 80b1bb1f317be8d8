package sim

import (
	"context"
	"log/slog"
	"strings"
)

// logger writes a peer's log where the setup has it, and watches it.
func (w *World) logger(name string) *slog.Logger {
	to := slog.DiscardHandler
	if w.Log != nil {
		to = slog.NewTextHandler(w.Log, &slog.HandlerOptions{Level: slog.LevelInfo})
	}
	return slog.New(watched{to, w.trace}).With("machine", name)
}

// watched breaks a run whose log reports a defect: programs survive most of theirs, so nothing else would show.
type watched struct {
	slog.Handler

	trace *Trace
}

// Enabled lets errors through in any case.
func (h watched) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError || h.Handler.Enabled(ctx, level)
}

// Handle looks at a line before it writes it.
func (h watched) Handle(ctx context.Context, line slog.Record) error {
	if line.Level >= slog.LevelError && strings.Contains(line.Message, "defect") {
		all := line.Message
		line.Attrs(func(a slog.Attr) bool {
			all += " " + a.String()
			return true
		})
		h.trace.Break(BreachDefect, "%s", all)
	}
	if !h.Handler.Enabled(ctx, line.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs watches on.
func (h watched) WithAttrs(attrs []slog.Attr) slog.Handler {
	return watched{h.Handler.WithAttrs(attrs), h.trace}
}

// WithGroup watches on.
func (h watched) WithGroup(name string) slog.Handler {
	return watched{h.Handler.WithGroup(name), h.trace}
}
