// Package leasemodel plays the lease protocol on random schedules and looks for the one thing that it must
// exclude: a rank that the log has given up while its processes may still run.
//
// The production code decides: the leader's book (cluster/liveness), the replicated state's Apply (fsm/state)
// and the node's rules (node/fence). The world around it is random: clocks that run 0.1 % fast or slow,
// messages that are late, lost or overtake each other, elections that keep or drop what was in flight,
// leaders that are stopped or go on believing that they lead, agents that stop, restart or lose their data
// folder, hosts whose clock stops, peers that lose each other.
//
// Half of the schedules are played with the away rule: agents ask the peers whether there is a leader, and
// ranks go on when fence.LeaderlessAt proves that there was none. The peers' configuration is always the same
// here.
//
// The model is itself tested: each mutant breaks one rule of the protocol, and the same schedules must catch
// it.
//
//berth:single
package leasemodel
