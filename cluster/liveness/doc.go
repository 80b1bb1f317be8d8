// Package liveness decides which nodes are silent and which attempts are overdue: which node is suspect,
// which rank or allocation is lost, which attempt did not start in time.
//
// A [Book] is what one leader has seen with its own clock while it leads. Its input is states as they come;
// its output is the commands to propose and the time until something can be due. It reads no clock: every now
// is a reading of the leader's own CLOCK_BOOTTIME, which never goes back and counts suspended time.
//
// # Why a lost rank runs no more
//
// A node's agent lets its ranks run for T, by its clock, from the sending of the newest renewal that the log
// has accepted. That renewal is the pair (epoch, seq) in the node's lease. The leader gives a rank up when
// the node has been silent for T(1+4ρ)+M: ρ bounds the rate error of each clock, and M is a plain margin on
// top. A supervisor begins to stop the rank so long before the end of T that the kill, which may take K, is
// over by then.
//
// What is counted as silence never exceeds the time that has truly passed since the renewal was sent, but for
// the clocks' rates: a leader counts from when it first saw the pair in its state, which was applied, and so
// sent, before. It counts from its election at the earliest, and restarts the count after a stall of its own.
//
// Two clocks take part: that of the leader, up to 1+ρ too fast, and that of the agent, up to 1-ρ too slow. 2ρ
// would do for their ratio, 4ρ leaves room for its square and for a kernel that rounds timers up.
//
// A leader does not count the silence that earlier leaders have witnessed, so an election makes the loss of a
// rank later. This is because of a rule of the agent: it lets ranks run on from an instant at which there was
// no leader (fence.LeaderlessAt). That instant is no renewal and voids no count, so a leader that took over a
// count could give the rank up before T has passed since.
//
// The command that gives a rank up names the pair, and apply.Apply refuses it if the node has been heard of
// since. It also refuses it unless the node is suspect, and the book proposes it only when it has seen the
// node suspect for two periods of renewal: a node that comes back in the last moment, or needs a moment to
// find the new leader, is heard.
//
// An agent that has lost its data folder renews its node's lease, but can no longer extend that of the ranks
// it forgot (orphans). Those are given up once LostAfter has passed since the book first saw them to be
// orphans, however lively the node is.
//
// A rank that is held when its node is lost (model.OnLostHold) is never given up here.
//
//berth:pure
package liveness
