package systemd

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	statusEvery = 5 * time.Second // interval at which the line of status is made
	maxStacks   = 1 << 20         // bytes of the stacks of a program that does not answer
)

// Follow reports the state of the program until stop is called. check returns the line of status; it is called in a goroutine
// of its own, one call at a time. Each new line is reported. At half the interval of the watchdog check is called too, and
// its return is the sign of life: while it does not return, there is none, the stacks of all goroutines are logged, and the
// manager ends the process after its interval.
func (m *Manager) Follow(check func() string) (stop func()) {
	if m.socket == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { m.follow(ctx, check) })
	return func() {
		cancel()
		work.Wait()
	}
}

// question is a call of check that may not have returned.
type question struct {
	answer  chan string
	since   time.Time
	pending bool
	logged  bool // that there is no answer
}

// ask calls check, unless a call is pending.
func (q *question) ask(check func() string) {
	if q.pending {
		return
	}
	q.pending, q.logged, q.since = true, false, time.Now()
	go func() { q.answer <- check() }()
}

func (m *Manager) follow(ctx context.Context, check func() string) {
	q := &question{answer: make(chan string, 1)}
	status := time.NewTicker(statusEvery)
	defer status.Stop()
	var beat <-chan time.Time
	if m.interval > 0 {
		t := time.NewTicker(m.interval / 2)
		defer t.Stop()
		beat = t.C
	}
	said, due := "", m.interval > 0
	for {
		q.ask(check)
		select {
		case <-ctx.Done():
			return
		case line := <-q.answer:
			q.pending = false
			m.report(line, &said, &due)
			select {
			case <-ctx.Done():
				return
			case <-status.C:
			case <-beat:
				due = true
			}
		case <-status.C:
			m.complain(q)
		case <-beat:
			due = true
		}
	}
}

// report sends what is new: the line of status, and a sign of life if that is due.
func (m *Manager) report(line string, said *string, due *bool) {
	var parts []string
	if *due {
		parts, *due = append(parts, "WATCHDOG=1"), false
	}
	if line != *said {
		parts, *said = append(parts, statusOf(line)), line
	}
	if len(parts) > 0 {
		m.send(strings.Join(parts, "\n"))
	}
}

// complain logs once that a call does not return, with the stacks of all goroutines, by which the cause can be found after
// the manager has ended the process.
func (m *Manager) complain(q *question) {
	if q.logged || time.Since(q.since) < statusEvery {
		return
	}
	q.logged = true
	m.Log.Error("not_alive", "for", time.Since(q.since), "watchdog", m.interval,
		"why", "the program does not answer the question for its state; without an answer the service manager ends it after the interval of the watchdog")
	stacks := make([]byte, maxStacks)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		m.Log.Error("not_alive", "stack", stack)
	}
}
