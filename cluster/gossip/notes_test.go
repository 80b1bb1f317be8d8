package gossip

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseLine(t *testing.T) {
	for line, want := range map[string]struct {
		level slog.Level
		text  string
	}{
		"[DEBUG] memberlist: Stream connection from=1.2.3.4:5\n": {slog.LevelDebug, "Stream connection from=1.2.3.4:5"},
		"[INFO] memberlist: Suspect a has failed\n":              {slog.LevelInfo, "Suspect a has failed"},
		"[WARN] memberlist: x":                                   {slog.LevelWarn, "x"},
		"[ERR] memberlist: x":                                    {slog.LevelError, "x"},
		"[ERROR] memberlist: x":                                  {slog.LevelError, "x"},
		"[ERR] Failed to shutdown transport: x":                  {slog.LevelError, "Failed to shutdown transport: x"},
		"Err: Could not set the deadline: x":                     {slog.LevelWarn, "Err: Could not set the deadline: x"},
		"":                                                       {slog.LevelWarn, ""},
	} {
		if level, text := parseLine(line); level != want.level || text != want.text {
			t.Errorf("%q is %v %q, want %v %q", line, level, text, want.level, want.text)
		}
	}
}

func TestNotesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		n := newNotes(slog.New(slog.NewTextHandler(&out, nil)))
		for range 3 * notesBurst {
			_, _ = n.Write([]byte("[ERR] memberlist: rubbish from a stranger\n"))
			_, _ = n.Write([]byte("[DEBUG] memberlist: not enabled\n"))
		}
		synctest.Wait()
		if got := strings.Count(out.String(), "rubbish"); got != notesBurst {
			t.Errorf("%d lines in a burst, want %d", got, notesBurst)
		}
		time.Sleep(notesWindow)
		n.add(slog.LevelInfo, "later")
		n.close()
		if !strings.Contains(out.String(), "later component=gossip dropped_before=100") {
			t.Errorf("no count of the dropped lines:\n%s", out.String()[out.Len()-300:])
		}
		if strings.Contains(out.String(), "not enabled") {
			t.Error("a disabled level was logged")
		}
	})
}

// blockedHandler is a logger whose reader has gone away.
type blockedHandler struct {
	slog.Handler
	until chan struct{}
}

func (h blockedHandler) Handle(context.Context, slog.Record) error {
	<-h.until
	return nil
}

func (h blockedHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func TestNotesNeverWaitForTheLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := blockedHandler{slog.NewTextHandler(new(bytes.Buffer), nil), make(chan struct{})}
		n := newNotes(slog.New(h))
		start := time.Now()
		for range 3 * notesQueued {
			_, _ = n.Write([]byte("[ERR] memberlist: x\n"))
		}
		if d := time.Since(start); d != 0 || n.dropped.Load() == 0 {
			t.Errorf("writing took %v and dropped %d", d, n.dropped.Load())
		}
		n.close()
		if d := time.Since(start); d != notesFlush {
			t.Errorf("closing took %v, want %v", d, notesFlush)
		}
		n.close() // again
		close(h.until)
	})
}
