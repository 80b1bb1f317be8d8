package leader

import (
	"context"
	"crypto/rand"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of the pauses in a loop.
const (
	pauseFirst = 50 * time.Millisecond
	pauseMost  = 2 * time.Second
	// atLeast keeps a time that never quite comes, by a clock that was set back, from turning a wait into a
	// busy loop.
	atLeast = 20 * time.Millisecond
)

// loop runs one decider.
type loop struct {
	decider

	peer   Peer
	actor  string
	log    *slog.Logger
	defect func()          // of a decision that panics; may be nil
	jumped <-chan struct{} // receives after the wall clock was set
	pause  backoff
}

func (l *loop) run(ctx context.Context) {
	for ctx.Err() == nil {
		s := l.peer.State()
		bodies, next, sound := l.tried(&s)
		if ctx.Err() != nil {
			return
		}
		if !sound || len(bodies) > 0 && !l.propose(ctx, bodies) {
			if !wait(ctx, l.pause.next()) {
				return
			}
			continue
		}
		l.pause.reset()
		if next <= 0 && len(bodies) > 0 {
			continue // there is more
		}
		if !wait(ctx, max(next, atLeast), l.peer.Changed(l.topics, s.Index), l.wake, l.jumped) {
			return
		}
	}
}

// tried runs the decider, and reports whether that succeeded. A defect triggered by a state would otherwise end
// every peer that comes to lead, one after the other; so it costs one kind of decision, and running jobs go on.
func (l *loop) tried(s *state.State) (bodies []command.Body, next time.Duration, sound bool) {
	defer func() {
		if reason := recover(); reason != nil {
			l.log.Error("decision panicked, retrying (defect)", "panic", reason, "stack", string(debug.Stack()))
			if l.defect != nil {
				l.defect()
			}
			bodies, sound = nil, false
		}
	}()
	bodies, next = l.decide(s)
	return bodies, next, true
}

// propose reports whether all commands were carried out. Commands of one lane share an entry; control
// commands come first, since others may be refused until they are carried out (an entry that is stamped ahead
// of the state's clock, before advance_clock).
func (l *loop) propose(ctx context.Context, bodies []command.Body) bool {
	var of [command.LaneCount][]command.Body
	for _, b := range bodies {
		of[b.Kind().Lane()] = append(of[b.Kind().Lane()], b)
	}
	whole := true
	for _, lane := range [...]command.Lane{command.LaneControl, command.LaneUser} {
		if len(of[lane]) > 0 && !l.proposeLane(ctx, of[lane]) {
			whole = false
		}
	}
	return whole
}

// proposeLane proposes commands of one lane, and reports whether all were carried out.
func (l *loop) proposeLane(ctx context.Context, bodies []command.Body) bool {
	whole := true
	commands := make([]command.Command, 0, len(bodies))
	for _, b := range bodies {
		drawSecret(b)
		c, err := command.New(l.actor, b)
		if err != nil {
			l.log.Error("invalid decision (defect)", "kind", b.Kind(), "error", err)
			whole = false
			continue
		}
		commands = append(commands, c)
	}
	if len(commands) == 0 {
		return false
	}
	results, err := l.peer.Propose(ctx, commands...)
	if err != nil {
		if ctx.Err() == nil {
			l.log.Warn("decision not committed, retrying", "commands", len(commands), "error", err)
		}
		return false
	}
	for i := range results {
		if r := &results[i]; !r.OK() {
			whole = false
			l.log.Info("decision refused, retrying", "kind", commands[i].Kind(), "code", r.Code,
				"detail", r.Detail)
		}
	}
	return whole
}

// drawSecret gives a placement on several nodes the secret by which its ranks recognize each other. Decisions are functions of the
// state, so random numbers are drawn after them.
func drawSecret(b command.Body) {
	if p, is := b.(*command.Place); is && len(p.Ranks) > 1 {
		_, _ = rand.Read(p.Secret[:]) // never fails (package crypto/rand)
	}
}

// wait returns true after that long or when one of at most three channels has something, and false when ctx
// ends.
func wait(ctx context.Context, long time.Duration, on ...<-chan struct{}) bool {
	var channels [3]<-chan struct{} // a nil channel is never ready
	copy(channels[:], on)
	var due <-chan time.Time
	if long < liveness.Never {
		t := time.NewTimer(long)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-due:
	case <-channels[0]:
	case <-channels[1]:
	case <-channels[2]:
	}
	return ctx.Err() == nil
}

// backoff is a pause that doubles.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, pauseFirst), pauseMost)
	return b.last
}

func (b *backoff) reset() { b.last = 0 }
