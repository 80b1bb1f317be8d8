// Package leasemodel plays the lease protocol on random schedules and looks for
// the one thing that it must exclude: a rank that the log has given up while its
// processes may still run.
//
// What decides is the production code: the leader's book (cluster/liveness), the
// replicated state's Apply (fsm/state) and the node's rules (node/fence). What is
// random is the world around it: clocks that run 0.1 % fast or slow, messages that
// are late, lost or overtake each other, elections that keep or drop what was in
// flight, leaders that stand still or go on believing that they lead, agents that
// stop, restart or lose their data folder, hosts whose clock stands still, peers that
// lose each other.
//
// Half of the schedules are played with the away rule: agents ask the peers whether
// anybody leads, and ranks go on when fence.LeaderlessAt finds that nobody did, while
// leaders count nothing that earlier ones have witnessed (liveness.Config.Anew). The
// peers' configuration is always the same here.
//
// The model is itself tested: each mutant breaks one rule of the protocol, and the
// same schedules must catch it.
package leasemodel
