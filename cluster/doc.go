// Package cluster is one peer: it takes part in Raft, proposes commands, serves
// reads of the state, and leads when it is elected.
//
//	lane.go      group commit: commands that wait together travel in one entry
//	read.go      reads with three consistencies, and waiting for changes
//	member.go    bootstrap, join, promote, remove, transfer
//	exchange.go  what peers tell each other each second: clock, digest, progress
//	lead.go      what runs while this peer leads
//	guard.go     the hazards of the disk and of the library, and the way out
//
// A Peer is given its world: network, stores, clock, and a way to end the
// process. The simulator gives it another world than cmd/berth does, and the code
// in between is the same.
package cluster
