package loglimit_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/loglimit"
)

// logged runs what logs in a bubble, and returns the lines without their times.
func logged(t *testing.T, run func(log *slog.Logger)) (lines []string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		out := &bytes.Buffer{}
		run(slog.New(loglimit.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))))
		lines = strings.Split(strings.TrimSpace(out.String()), "\n")
	})
	return lines
}

func want(t *testing.T, got []string, lines ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(lines, "\n") {
		t.Errorf("logged\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func TestOneRecordAMinute(t *testing.T) {
	t.Parallel()
	got := logged(t, func(log *slog.Logger) {
		for range 4 * 61 {
			log.Error("unreadable", "rank", "7.0")
			time.Sleep(time.Second / 4)
		}
		time.Sleep(time.Hour)
		log.Error("unreadable", "rank", "7.0")
		time.Sleep(time.Hour)
		log.Error("unreadable", "rank", "7.0")
	})
	want(t, got, "level=ERROR msg=unreadable rank=7.0", "level=ERROR msg=unreadable rank=7.0 suppressed=239",
		"level=ERROR msg=unreadable rank=7.0 suppressed=3", "level=ERROR msg=unreadable rank=7.0")
}

// One address has one line of a sort in a minute, whatever its ports, paths and reasons; another address has its own.
func TestOneLineOfAnAddress(t *testing.T) {
	t.Parallel()
	got := logged(t, func(log *slog.Logger) {
		for i := range 500 {
			log.Warn("refused", "path", fmt.Sprint("/", i), "from", fmt.Sprint("10.0.0.1:", 40000+i), "why", fmt.Sprint("reason ", i))
			log.Warn("refused", "path", "/", "from", fmt.Sprint("[fd00::1]:", 40000+i))
		}
		time.Sleep(time.Minute)
		log.Warn("refused", "path", "/x", "from", "10.0.0.1")
	})
	want(t, got, `level=WARN msg=refused path=/0 from=10.0.0.1:40000 why="reason 0"`, "level=WARN msg=refused path=/ from=[fd00::1]:40000",
		"level=WARN msg=refused path=/x from=10.0.0.1 suppressed=499")
}

// What differs in level, message or an attribute has another cause; the numbers in an error and how long
// something took do not matter. Nothing below a warning is held back.
func TestCauses(t *testing.T) {
	t.Parallel()
	got := logged(t, func(log *slog.Logger) {
		for i := range 3 {
			log.Info("renewed")
			log.Warn("late", "node", "n1", "by", time.Duration(i), "share", float64(i), "at", time.Now())
			log.Error("late", "node", "n1")
			log.Warn("late", "node", "n2")
			log.With("peer", "p1").Warn("late", "node", "n2")
			log.WithGroup("g").Warn("late", "node", "n2")
			log.Warn("lost", "err", fmt.Errorf("read 127.0.0.1:%d: reset", 40000+i))
		}
		log.Warn("lost", "err", errors.New("refused"))
		log.Warn("late", "node", 3)
	})
	want(t, got,
		"level=INFO msg=renewed", "level=WARN msg=late node=n1 by=0s share=0 at=2000-01-01T00:00:00.000Z", "level=ERROR msg=late node=n1",
		"level=WARN msg=late node=n2", "level=WARN msg=late peer=p1 node=n2", "level=WARN msg=late g.node=n2",
		`level=WARN msg=lost err="read 127.0.0.1:40000: reset"`, "level=INFO msg=renewed", "level=INFO msg=renewed",
		"level=WARN msg=lost err=refused", "level=WARN msg=late node=3")
}

// The causes that came least recently are forgotten, so that memory is bounded.
func TestManyCauses(t *testing.T) {
	t.Parallel()
	got := logged(t, func(log *slog.Logger) {
		for i := range 1024 {
			log.Warn("w", "job", i)
		}
		log.Warn("w", "job", 0)    // known: it came last
		log.Warn("w", "job", 1024) // in the place of job 1
		log.Warn("w", "job", 0)
		log.Warn("w", "job", 1)
	})
	if len(got) != 1026 || got[1025] != "level=WARN msg=w job=1" {
		t.Errorf("%d lines, the last is %s", len(got), got[len(got)-1])
	}
}
