// Package loglimit protects a log from a flood with one cause: a warning or an error that is the
// same as one of the last minute is counted instead of written.
package loglimit

import (
	"container/list"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"
)

// Every is the least time between two records with one cause.
const Every = time.Minute

// From is the attribute with the address that a connection or a request comes from.
const From = "from"

// maxCauses bounds the causes that are remembered; the ones that came least recently are forgotten.
const maxCauses = 1024

// Handler passes records to another handler: those below slog.LevelWarn all, of others with the same
// cause at most one in Every. The next one that is passed has the attribute suppressed, the number of
// those in between.
//
// The cause of a record is its level, its message and its attributes. Times, durations and fractions do not
// count, nor do digits in errors, which may be those of a port. Time is that of the records.
//
// A record with the attribute [From] is about a caller from an address, and the caller chooses the other attributes: then the
// cause is the level, the message and the address, without its port.
type Handler struct {
	next  slog.Handler
	under string // attributes and groups of WithAttrs and WithGroup, for the cause
	seen  *seen
}

// New returns a handler that passes records to another.
func New(next slog.Handler) *Handler {
	return &Handler{next: next, seen: &seen{causes: map[string]*list.Element{}, order: list.New()}}
}

// Enabled returns the answer of the other handler.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs returns a handler with which all records have the attributes.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.under)
	for _, a := range attrs {
		subject(&b, a)
	}
	return &Handler{h.next.WithAttrs(attrs), b.String(), h.seen}
}

// WithGroup returns a handler with which the attributes of records are in a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.next.WithGroup(name), h.under + "\x00" + name + ".", h.seen}
}

// Handle passes a record, or counts it.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn || r.Time.IsZero() {
		return h.next.Handle(ctx, r)
	}
	var b strings.Builder
	from := ""
	r.Attrs(func(a slog.Attr) bool {
		subject(&b, a)
		if a.Key == From {
			from = hostOf(a.Value.String())
		}
		return from == ""
	})
	cause := r.Level.String() + r.Message + h.under + b.String()
	if from != "" {
		cause = r.Level.String() + r.Message + h.under + "\x00" + From + "=" + from
	}
	before, pass := h.seen.admit(cause, r.Time)
	if !pass {
		return nil
	}
	if before > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("suppressed", before))
	}
	return h.next.Handle(ctx, r)
}

// hostOf returns an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// subject adds the part of an attribute that identifies a cause.
func subject(b *strings.Builder, a slog.Attr) {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindTime, slog.KindDuration, slog.KindFloat64:
		return
	}
	text := v.String()
	if _, is := v.Any().(error); is || a.Key == "err" {
		text = strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, text)
	}
	b.WriteString("\x00" + a.Key + "=" + text)
}

// seen remembers causes.
type seen struct {
	mu     sync.Mutex
	causes map[string]*list.Element
	order  *list.List // of *cause, the one that came last in front
}

// cause is a cause, the time when a record of it was last passed, and the number of records since.
type cause struct {
	key        string
	passed     time.Time
	suppressed int
}

// admit reports whether a record is passed, and how many before it were not.
func (s *seen) admit(key string, now time.Time) (before int, pass bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, known := s.causes[key]
	if !known {
		if s.order.Len() >= maxCauses {
			if last, ok := s.order.Remove(s.order.Back()).(*cause); ok {
				delete(s.causes, last.key)
			}
		}
		s.causes[key] = s.order.PushFront(&cause{key: key, passed: now})
		return 0, true
	}
	s.order.MoveToFront(at)
	c, _ := at.Value.(*cause)
	if since := now.Sub(c.passed); since >= 0 && since < Every {
		c.suppressed++
		return 0, false
	}
	before, c.suppressed, c.passed = c.suppressed, 0, now
	return before, true
}
