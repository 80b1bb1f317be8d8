// Package cluster is one peer of the control plane: it takes part in Raft, proposes commands, serves reads of
// the state, and runs the leader's work when it is elected.
//
//	lane.go      group commit: commands that wait together travel in one entry
//	read.go      reads with three consistencies, and waiting for changes
//	member.go    bootstrap, join, promote, remove, transfer
//	exchange.go  the peers' mutual reports, each second: clock, digest, progress
//	calls.go     the calls between peers, over the peer port
//	lead.go      what runs while this peer leads
//	guard.go     the hazards of the disk and of the library, and the way out
//
// A Peer gets its environment from its caller: network, stores, clock, and a way to end the process. The
// simulator passes other implementations than cmd/berthd does, and the code in between is the same.
package cluster
