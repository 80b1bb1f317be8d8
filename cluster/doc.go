// Package cluster is one peer of the control plane: it takes part in Raft, proposes commands, serves reads of
// the state, and runs the leader's work when it is elected.
//
// A Peer gets its environment from its caller: network, stores, clock, and a way to end the process. The
// simulator passes other implementations than cmd/berthd does, and the code in between is the same.
package cluster
