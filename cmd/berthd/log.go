package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cmd/internal/loglimit"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/node"
)

// logLines is the most lines that may wait to be written.
const logLines = 4096

// lineWriter writes lines in a goroutine of its own, so that a terminal or a pipe without a reader
// never blocks the program: a leader that waits for its log loses leadership. Lines that do not fit
// are dropped and counted.
type lineWriter struct {
	to      io.Writer
	json    bool // lines are objects of JSON, see log.format
	lines   chan []byte
	dropped atomic.Uint64
	quit    chan struct{}
	once    sync.Once
	ended   chan struct{}
}

// newLineWriter returns a writer of lines in the format of a log.
func newLineWriter(to io.Writer, format string) *lineWriter {
	w := &lineWriter{to: to, json: format == "json", lines: make(chan []byte, logLines), quit: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

// newLog returns a log on w in its format, in which no cause of warnings and errors has more than a line a minute.
func newLog(w *lineWriter, level slog.Leveler) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if w.json {
		return slog.New(loglimit.New(slog.NewJSONHandler(w, o)))
	}
	return slog.New(loglimit.New(slog.NewTextHandler(w, o)))
}

// sentence returns the line of a message that is not of the log, such as the reason for the end of the program: berth: and
// the message, or an error in a log of JSON.
func (w *lineWriter) sentence(message string) string {
	if !w.json {
		return "berth: " + message + "\n"
	}
	var line strings.Builder
	slog.New(slog.NewJSONHandler(&line, nil)).Error(message)
	return line.String()
}

// report writes the error with which the program ends, if the log is JSON, and returns an error for its exit code. As text
// the error is written where all programs do.
func (w *lineWriter) report(err error) error {
	if err == nil || !w.json || cmdline.WithoutCancel(err) == nil {
		return err
	}
	w.last(w.sentence(cmdline.OneLine(cmdline.Advise(err))), flushLimit)
	return cmdline.ExitError(cmdline.ExitCode(err))
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
		_, _ = io.WriteString(w.to, w.sentence(fmt.Sprintf("%d lines of the log were dropped, since standard error was not read in time", n)))
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

// standing returns in one line what a peer does, for the service manager.
func (s *service) standing() string {
	st, now := s.peer.Status(), s.peer.State()
	return peerStanding(&st, now.Jobs.Len()-now.Ended.Len())
}

// peerStanding is standing of a status, with a number of jobs that have not ended.
func peerStanding(st *peer.Status, jobs int) string {
	switch {
	case st.Waiting != "":
		return "waits: " + st.Waiting
	case st.Role == peer.RoleLeader:
		return fmt.Sprintf("leader, term %d, %s", st.Term, count(jobs, "job"))
	case st.Leader.ID == "":
		return fmt.Sprintf("no leader is known, term %d", st.Term)
	case !st.Lag.CaughtUp() && st.Lag.Entries > 0:
		return fmt.Sprintf("catching up with %s, %d entries behind", st.Leader.ID, st.Lag.Entries)
	case !st.Lag.CaughtUp():
		return fmt.Sprintf("catching up with %s", st.Leader.ID)
	}
	return fmt.Sprintf("follower of %s, term %d, %s", st.Leader.ID, st.Term, count(jobs, "job"))
}

// agentStanding returns in one line what an agent does, for the service manager, as soon as the agent answers.
func agentStanding(ctx context.Context, a *node.Agent) string {
	s, err := a.Standing(ctx)
	if err != nil {
		return "ends; jobs go on"
	}
	return standingOf(s, time.Now())
}

// standingOf is agentStanding of a standing.
func standingOf(s node.Standing, at time.Time) string {
	up := count(s.Ranks, "rank")
	if s.Silent == 0 {
		return "up, " + up
	}
	text := "out of contact since " + at.Add(-s.Silent).Format(time.TimeOnly) + ", " + up
	switch {
	case s.Ranks == 0:
		return text
	case s.Leaderless:
		return text + "; no peer leads, so that they continue"
	case s.Left == 0:
		return text + ", whose lease is over"
	}
	return text + ", whose lease ends at " + at.Add(s.Left).Format(time.TimeOnly)
}

// count returns a number and a noun, in the plural if there is not one.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
