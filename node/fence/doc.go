// Package fence holds the rules of the lease on a node's side: how long the attempts on the node may run, what the
// node starts and ends, and when it must stop a job because the cluster may already give that job to another node.
//
// The leader declares a rank lost only when it has waited for longer than the attempt's T since the node's last
// renewal was applied. The rules here ensure that by then the rank runs no more, whatever the network, the agent or
// the clocks did in between. Read them in this order:
//
//   - [Lease] counts from the sending of the newest accepted renewal.
//   - [Deadline], [Judge] and [MayStart] derive from that instant what one attempt may do; [Guard] keeps a fence
//     that has begun from being moved.
//   - [MustFreeze] and [MayThaw] cover hosts that slept without noticing.
//   - [Sets] filters desired sets, [Reconcile] plans the steps towards one.
//   - [LeaderlessAt] finds an instant at which no leader can have been at work, [Inquiry] selects the peers whose
//     answers count for it.
//
// Every function depends on its arguments only: times are readings that the caller took, and actions are returned,
// not done. The agent, its supervisors and the simulator run the same code.
//
// Values of this package must not be used by two goroutines at once.
//
//berth:pure
package fence

import "time"

// Boot is a reading of the host's CLOCK_BOOTTIME, the time since the kernel started. CLOCK_BOOTTIME never
// goes back, cannot be set and counts suspended time, which Go's own monotonic clock leaves out. Readings of
// two boots, or of two hosts, must never be compared. 0 is the boot itself; as a lease's start 0 means that
// there is no lease yet.
type Boot time.Duration

// Add returns the reading d later.
func (b Boot) Add(d time.Duration) Boot { return b + Boot(d) }

// Sub returns the time from o to b.
func (b Boot) Sub(o Boot) time.Duration { return time.Duration(b - o) }

// String returns the time since the boot, like "26h3m0.5s".
func (b Boot) String() string { return time.Duration(b).String() }
