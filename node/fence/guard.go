package fence

import "github.com/berth-gpu/berth/fsm/model"

// Verdict is the decision on a rank's processes.
type Verdict uint8

// The verdicts, each harder than the one before.
const (
	Run  Verdict = iota // let them run
	Stop                // begin the fence: checkpoint signal, stop signal, graces
	Kill                // end all of them now, whatever the graces still allow
)

// String returns the verdict's name.
func (v Verdict) String() string {
	switch v {
	case Run:
		return "run"
	case Stop:
		return "stop"
	case Kill:
		return "kill"
	}
	return "unknown"
}

// Fence holds when an attempt's fence begins, when it starts to kill, and by when all processes of the
// attempt must be gone.
type Fence struct {
	Stop, Kill, Expiry Boot
}

// Deadline returns the fence of an attempt on a node whose lease starts at start. An attempt that is held when
// its node is lost has none ([model.Frozen.Fenced]).
//
// The kill comes a third of K before the expiry, so that the kernel has that long to end the killed
// processes. A start of 0 stands for the boot; no promise made to this boot is older.
func Deadline(start Boot, f model.Frozen) (fence Fence, bounded bool) {
	if !f.Fenced() {
		return Fence{}, false
	}
	expiry := start.Add(f.T)
	return Fence{Stop: expiry.Add(-f.FenceLead()), Kill: expiry.Add(-f.Kill / 3), Expiry: expiry}, true
}

// Judge returns the verdict at now on an attempt of a node whose lease starts at start. A caller that acts on
// verdicts while the start moves needs a [Guard].
func Judge(now, start Boot, f model.Frozen) Verdict {
	fence, bounded := Deadline(start, f)
	switch {
	case !bounded || now < fence.Stop:
		return Run
	case now < fence.Kill:
		return Stop
	}
	return Kill
}

// MayStart reports whether a node whose lease starts at start may begin anything new of an attempt: there is
// a lease, and the time for starts under it ([model.Frozen.StartSpan], by which a spec is valid, too) is not over.
// An attempt without a fence needs a lease, too, since only a node in contact knows what to start. The start must
// be the [Lease]'s; an instant found by [LeaderlessAt] keeps ranks alive, and starts none.
func MayStart(now, start Boot, f model.Frozen) bool {
	return start > 0 && now < start.Add(f.StartSpan())
}

// Guard judges one attempt over time. The lease's start only ever moves its fence out, until the fence has
// begun: from then on nothing does, since the rank has been asked to stop, and the leader may already have
// acted on an expiry that has passed. As CLOCK_BOOTTIME never goes back, a fence that cannot be moved needs
// no other memory of having begun, and verdicts only grow harder.
//
// The fields are exported for the file in which they outlive the agent. A guard read from an older file is
// safe: its fence is earlier.
type Guard struct {
	Frozen model.Frozen
	Start  Boot // newest start of the lease that counted
}

// NewGuard returns the guard of an attempt that starts under a lease with that start.
func NewGuard(start Boot, f model.Frozen) Guard { return Guard{Frozen: f, Start: start} }

// Extend moves the fence to that of a lease's start at now, and reports whether the fence has moved out. It
// stays if it has begun, or should have by now.
func (g *Guard) Extend(now, start Boot) bool {
	if g.Verdict(now) != Run || start <= g.Start {
		return false
	}
	g.Start = start
	return true
}

// Verdict returns the verdict at now.
func (g *Guard) Verdict(now Boot) Verdict { return Judge(now, g.Start, g.Frozen) }

// Deadline returns the current fence; false for a held attempt, which has none.
func (g *Guard) Deadline() (fence Fence, bounded bool) { return Deadline(g.Start, g.Frozen) }
