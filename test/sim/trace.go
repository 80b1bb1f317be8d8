package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Violation is a promise that a run has seen broken.
type Violation struct {
	Name string // stable, one of the Breach constants
	What string
	At   time.Duration // since the run began
}

// Error names the promise and how it was broken.
func (v *Violation) Error() string { return fmt.Sprintf("%s at %v: %s", v.Name, v.At, v.What) }

// The names of violations.
const (
	BreachTwoAttempts  = "two live attempts"
	BreachTwoOnGPU     = "two processes on a GPU"
	BreachStartedTwice = "a rank started twice"
	BreachUnwanted     = "a wanted rank was killed"
	BreachInvariant    = "invariant"
	BreachDivergence   = "the states differ"
	BreachLost         = "an acknowledged command was lost"
	BreachTwice        = "a request was carried out twice"
	BreachExit         = "a false exit was recorded"
	BreachProgress     = "no progress after healing"
	BreachUnfinished   = "work left undone"
	BreachStuck        = "an attempt does not move on"
	BreachDefect       = "a defect shows"
	BreachQuarantine   = "a sound peer was quarantined"

	BreachThrottle    = "more tasks of an array ran at once than it allows"
	BreachBegin       = "a job started before its begin"
	BreachDependency  = "a job started before what it waits for had ended so"
	BreachDeadline    = "a job outlived its deadline"
	BreachWhere       = "a job started on a node that it does not want"
	BreachGPUs        = "a job started with another number of GPUs than it takes"
	BreachBooked      = "reserved GPUs were given to another user"
	BreachLead        = "the end of a lead rank was not that of its job"
	BreachMaintenance = "work was placed into a maintenance"
)

// line is one thing that happened.
type line struct {
	at    time.Duration
	fault bool
	text  string
}

// Trace keeps what happened in a run, in order.
type Trace struct {
	began time.Time

	mu    sync.Mutex
	lines []line
	first *Violation
	fail  chan struct{} // closed at the first violation
}

func newTrace() *Trace { return &Trace{began: time.Now(), fail: make(chan struct{})} }

// Note writes a line.
func (t *Trace) Note(format string, args ...any) { t.add(false, format, args) }

// Fault writes a line of the fault trace.
func (t *Trace) Fault(format string, args ...any) { t.add(true, format, args) }

func (t *Trace) add(fault bool, format string, args []any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line{time.Since(t.began), fault, fmt.Sprintf(format, args...)})
}

// Break reports a violation. The first one ends the run.
func (t *Trace) Break(name, format string, args ...any) {
	t.add(true, "VIOLATION: "+name+": "+format, args)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil {
		t.first = &Violation{name, fmt.Sprintf(format, args...), time.Since(t.began)}
		close(t.fail)
	}
}

// Broken returns the first violation, if there was one.
func (t *Trace) Broken() *Violation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first
}

// Write prints the trace: only the faults, or everything.
func (t *Trace) Write(w io.Writer, faultsOnly bool) {
	t.mu.Lock()
	lines := slices.Clone(t.lines)
	t.mu.Unlock()
	for _, l := range lines {
		if l.fault || !faultsOnly {
			fmt.Fprintf(w, "%12v  %s\n", l.at, l.text)
		}
	}
}

// Hash returns the same for two runs that went the same way.
func (t *Trace) Hash() string {
	var b strings.Builder
	t.Write(&b, false)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}
