package fence

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// startSlack is what a start may take, on top of the fence's own time.
const startSlack = 10 * time.Second

// Verdict is what is to become of a rank's processes.
type Verdict uint8

// The verdicts, each harder than the one before.
const (
	Run  Verdict = iota // let them run
	Stop                // begin the fence: checkpoint signal, stop signal, graces
	Kill                // end all of them now, whatever the graces still allow
)

// String is the verdict's name.
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

// Fence is when an attempt's fence begins, when it turns to the kill, and by
// when all of its processes must be gone.
type Fence struct {
	Stop, Kill, Expiry Boot
}

// Deadline is the fence of an attempt on a node whose lease has that start. It
// is not bounded for an attempt that is held when its node is lost: no other
// attempt follows it before the node or an operator has spoken, so no time ends
// it.
//
// The kill comes a third of K before the expiry, so that the kernel has that
// long to end processes that are told to. A start of 0 stands for the boot; no
// promise made to this boot is older.
func Deadline(start Boot, f model.Frozen) (fence Fence, bounded bool) {
	if f.OnLost == model.OnLostHold {
		return Fence{}, false
	}
	expiry := start.Add(f.T)
	return Fence{Stop: expiry.Add(-f.FenceLead()), Kill: expiry.Add(-f.Kill / 3), Expiry: expiry}, true
}

// Judge is the verdict at now on an attempt of a node whose lease has that
// start. Who acts on it while the start moves needs a [Guard].
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

// MayStart says that a node whose lease has that start may begin anything new of
// an attempt: there is a lease, and its fence is not about to begin. It holds
// for every attempt, since only a node in contact knows what to start. The start
// must be the [Lease]'s; what [LeaderlessAt] found keeps alive, and starts
// nothing.
func MayStart(now, start Boot, f model.Frozen) bool {
	return start > 0 && now.Add(f.FenceLead()+startSlack) < start.Add(f.T)
}

// Guard judges one attempt over time. The lease's start only ever moves its
// fence out, until the fence has begun: from then on nothing does, since the
// rank has been told to stop, and an expiry that has passed may already have
// been acted on by the leader. As CLOCK_BOOTTIME never goes back, a fence that
// cannot be moved needs no other memory of having begun, and verdicts only grow
// harder.
//
// The fields are exported for the file in which they outlive the agent. A guard
// read from an older file is safe: its fence is earlier.
type Guard struct {
	Frozen model.Frozen
	Start  Boot // newest start of the lease that counted
}

// NewGuard guards an attempt that starts under a lease of that start.
func NewGuard(start Boot, f model.Frozen) Guard { return Guard{Frozen: f, Start: start} }

// Extend takes the lease's start at now, and reports whether the fence has moved
// out. It does not when the fence has begun, or should have by now.
func (g *Guard) Extend(now, start Boot) bool {
	if g.Verdict(now) != Run || start <= g.Start {
		return false
	}
	g.Start = start
	return true
}

// Verdict judges at now.
func (g *Guard) Verdict(now Boot) Verdict { return Judge(now, g.Start, g.Frozen) }

// Deadline is the fence as it stands; not bounded for a held attempt.
func (g *Guard) Deadline() (fence Fence, bounded bool) { return Deadline(g.Start, g.Frozen) }
