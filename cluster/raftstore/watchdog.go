package raftstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// Limits bound how long a store call may run.
type Limits struct {
	// HandOver is how long a leader's log may hang before another peer should lead; 2 s by default.
	HandOver time.Duration
	// Exit is how long the log of any peer may hang before the peer ends; 10 s by default.
	Exit time.Duration
	// SnapshotExit is the same for one call to the snapshot store; 60 s by
	// default. Opening one reads it whole and closing one syncs it, so these
	// calls are slow on a healthy disk, and no write waits for them.
	SnapshotExit time.Duration
}

func (l Limits) withDefaults() Limits {
	return Limits{
		HandOver:     cmp.Or(l.HandOver, 2*time.Second),
		Exit:         cmp.Or(l.Exit, 10*time.Second),
		SnapshotExit: cmp.Or(l.SnapshotExit, time.Minute),
	}
}

// Action is what a peer should do about its disk.
type Action int

// The actions, from harmless to final.
const (
	// Calm: nothing.
	Calm Action = iota
	// HandOver: let another peer lead, until the verdict is Calm again. raft's LeadershipTransfer does not
	// help: it waits for the same goroutine that hangs in the store. Silence this peer's side of the
	// transport instead; the others then elect.
	HandOver
	// Exit: end the process, without waiting for raft to shut down.
	Exit
)

// String returns the action in lower case.
func (a Action) String() string {
	switch a {
	case Calm:
		return "calm"
	case HandOver:
		return "hand over"
	case Exit:
		return "exit"
	}
	return fmt.Sprintf("action %d", int(a))
}

// Verdict is the watchdog's assessment of the disk.
type Verdict struct {
	Action Action
	Reason string        // one line for the log; empty when calm
	Age    time.Duration // of the oldest call in flight
	Err    error         // the latched error, if there is one
}

// Watchdog watches the calls that raft makes to its stores: how long each has been running, and whether one
// has failed. The first error is latched: from then on no call reaches a store again, because the disk's
// content is no longer known. "Not found" is not an error.
//
// A peer makes one Watchdog, gives raft the stores that Logs, Stable and Snapshots return, and runs Watch
// before raft is made and until after it has been shut down. It holds no lock while a store works.
type Watchdog struct {
	where  string
	limits Limits
	calls  calls
	latch  latch
}

// NewWatchdog returns a watchdog for the stores at a path, which is only named in messages. A limit of 0 is
// the usual one.
func NewWatchdog(where string, limits Limits) *Watchdog {
	return &Watchdog{
		where: where, limits: limits.withDefaults(),
		calls: calls{open: map[uint64]call{}},
		latch: latch{tripped: make(chan struct{}), over: make(chan struct{})},
	}
}

// Watch judges the calls in flight every interval (100 ms is fine) and at the first error, and reports each
// verdict whose action differs from the one before, until ctx ends. leader reports whether this peer leads;
// neither function may block. After Exit there are no further reports. Call Watch once.
func (w *Watchdog) Watch(ctx context.Context, interval time.Duration, leader func() bool, report func(Verdict)) {
	w.latch.watch()
	defer w.latch.end()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	tripped, last, action := w.latch.tripped, time.Now(), Calm
	for action != Exit {
		select {
		case <-ctx.Done():
			return
		case <-tripped:
			tripped = nil
		case <-ticker.C:
		}
		now := time.Now()
		w.calls.forgive(now.Sub(last), interval)
		last = now
		if v := w.Verdict(leader()); v.Action != action {
			action = v.Action
			report(v)
		}
	}
	<-ctx.Done()
}

// Arm announces that Watch is about to run, so that calls are held back from now on. Call it before the first
// use of the stores if Watch runs on another goroutine.
func (w *Watchdog) Arm() { w.latch.watch() }

// Verdict judges the stores now, for a leader or a follower.
func (w *Watchdog) Verdict(leader bool) Verdict {
	if err := w.latch.get(); err != nil {
		if fault, is := errors.AsType[*Fault](err); is { // it contains the remedy itself
			return Verdict{Action: Exit, Err: err, Reason: fault.Error()}
		}
		return Verdict{
			Action: Exit, Err: err,
			Reason: fmt.Sprintf("%v; this peer stops: after a failed write the content of the disk is unknown; "+
				"check the disk (dmesg, df), then start the peer again", err),
		}
	}
	now := time.Now()
	log, snap := w.calls.oldest(now, false), w.calls.oldest(now, true)
	switch {
	case log.age >= w.limits.Exit:
		return w.hangs(Exit, log, w.limits.Exit)
	case snap.age >= w.limits.SnapshotExit:
		return w.hangs(Exit, snap, w.limits.SnapshotExit)
	case leader && log.age >= w.limits.HandOver:
		return w.hangs(HandOver, log, w.limits.HandOver)
	}
	return Verdict{Age: max(log.age, snap.age)}
}

// hangs returns the verdict on a call that takes too long.
func (w *Watchdog) hangs(a Action, c oldest, limit time.Duration) Verdict {
	do := "another peer should lead until the disk answers"
	if a == Exit {
		do = "this peer stops; check the disk (dmesg, iostat), then start it again"
	}
	return Verdict{Action: a, Age: c.age, Reason: fmt.Sprintf("raft store %s: %s has been running for %v, more than %v; %s",
		w.where, c.op, c.age.Round(time.Millisecond), limit, do)}
}

// Err returns the latched error, or nil.
func (w *Watchdog) Err() error { return w.latch.get() }

// do runs one store call under watch and returns the error for raft.
func (w *Watchdog) do(op string, snapshot bool, f func() error) error {
	if err := w.latch.get(); err != nil {
		return err
	}
	id := w.calls.begin(op, snapshot)
	err := mapped("raft.db of "+w.where, f)
	w.calls.end(id)
	if err == nil || isNotFound(err) {
		return err
	}
	return w.latch.trip(fmt.Errorf("raft store %s: %s failed: %w", w.where, op, err))
}

// doOrHold is do for calls whose error raft answers with a panic. A panic would race with the orderly end
// that Watch brings about, so the caller is held back until Watch has ended, and then its goroutine ends too.
// Before Watch runs, nothing would end the peer, and the error is returned. It is returned to raft's replication, too, which
// does not panic on errors: if its goroutine ended here, the one that reads the followers' answers would wait for ever, and so
// would Raft.Shutdown (pipelineReplicate in raft 1.7.3).
func (w *Watchdog) doOrHold(op string, f func() error) error {
	err := w.do(op, false, f)
	if err == nil || w.latch.get() == nil || !w.latch.watched() || replicates() {
		return err
	}
	<-w.latch.over
	runtime.Goexit()
	return err
}

// replicates reports whether this goroutine sends a leader's log to a follower.
func replicates() bool {
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "hashicorp/raft.(*Raft).replicate") {
			return true
		}
		if !more {
			return false
		}
	}
}

// isNotFound reports whether a store's answer means "not found". raft's stores share no error value for that;
// raft itself compares the text.
func isNotFound(err error) bool {
	return err != nil && (errors.Is(err, raft.ErrLogNotFound) || errors.Is(err, fs.ErrNotExist) || err.Error() == "not found")
}
