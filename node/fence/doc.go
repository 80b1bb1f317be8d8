// Package fence holds the rules by which a node keeps its side of the lease: how
// long the attempts on it may run, what it starts and ends, and when it must
// stop a job because the cluster may already be giving that job to another node.
//
// The leader calls a rank lost only when it has waited for longer than the
// attempt's T since the node's last renewal was applied. The rules here make
// sure that by then the rank runs no more, whatever the network, the agent or
// the clocks did in between. Read them in this order:
//
//   - [Lease] counts from the sending of the newest renewal that was accepted.
//   - [Deadline], [Judge] and [MayStart] turn that instant into what one attempt
//     may do; [Guard] keeps a fence that has begun from being moved.
//   - [MustFreeze] and [MayThaw] cover hosts that slept without noticing.
//   - [Sets] says which desired sets count, [Reconcile] what follows from one.
//   - [LeaderlessAt] finds an instant at which no leader can have been at work,
//     [Inquiry] says whose answers count for it.
//
// Everything is a function of its arguments: times are readings that the caller
// took, and what is to be done is returned, not done. The agent, its
// supervisors and the simulator run the same code.
//
// No value here may be used by two goroutines at once.
package fence

import "time"

// Boot is a reading of the host's CLOCK_BOOTTIME, the time since the kernel
// started. It never goes back, is not set by anybody and counts suspended time,
// which Go's own monotonic clock leaves out. Readings of two boots, or of two
// hosts, must never be compared. 0 is the boot itself; as a lease's start it
// means that there is none yet.
type Boot time.Duration

// Add is the reading d later.
func (b Boot) Add(d time.Duration) Boot { return b + Boot(d) }

// Sub is the time from o to b.
func (b Boot) Sub(o Boot) time.Duration { return time.Duration(b - o) }

// String is the time since the boot, like "26h3m0.5s".
func (b Boot) String() string { return time.Duration(b).String() }
