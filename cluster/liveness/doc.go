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
// the clocks' rates, because it is a sum of intervals of time that do not overlap and all lie after the
// sending:
//
//   - A leader counts from when it first saw the pair in its state, which was applied, and so sent, before.
//     It counts from its election at the earliest, and restarts the count after a stall of its own.
//   - Each tenth of T the leader has its count committed, with the pair (command.Silent). A renewal or a
//     registration replaces the pair and voids the count.
//   - The next leader takes the count that it finds committed for the pair when it begins, and adds only its
//     own time since its election. A count that it finds was in its log when it was elected; so it had been
//     measured before. The intervals of the two leaders do not overlap. What a deposed leader measures after
//     that is in no log that the new one has, and is not counted.
//
// Two clocks take part in each such interval: that of the leader, up to 1+ρ too fast, and that of the agent,
// up to 1-ρ too slow. 2ρ would do for their ratio, 4ρ leaves room for its square and for a kernel that rounds
// timers up.
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
// One rule of the agent's may not be combined with counts that outlive a leader: letting ranks run on from an
// instant at which there was no leader. That instant is no renewal, so it voids no count, and a later leader
// could give the rank up before T has passed since. [Config.Anew] turns the taking over of counts off.
//
//berth:pure
package liveness
