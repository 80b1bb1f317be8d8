// Package raftstore is the durable store of one peer: its raft log, its term and vote, its snapshots, and its
// identity.
//
// Open prepares a data folder and either returns a Store whose parts go straight into raft.NewRaft, or a
// *Fault: one line with the problem, the place and the remedy for the operator. A folder looks like this:
//
//	LOCK        held with flock by the process that uses the folder
//	peer.json   which peer and which folder this is, its cluster, and the folder
//	            ids of the cluster's peers, with a checksum
//	raft.db     log entries, term and vote (bbolt, through raft-boltdb)
//	snapshots/  the two newest snapshots of the state
//	ballast     64 MiB that an operator may delete when the disk is full
//
// raft trusts its disk more than a disk deserves. A leader whose disk hangs goes on sending heartbeats and
// leads for ever (hashicorp/raft#503), and after a failed fsync raft keeps using the same file, where a later
// fsync may succeed although the data is gone (rostamlabs/rostam#94). Watchdog stands between raft and the
// stores for this reason: it measures how long the oldest call has been running and never lets a store go on
// after an error.
//
// This package never repairs a store. A peer that lost a vote or an acknowledged entry must not take part
// again under the same id. A random folder id shows such a loss: the peers identify each other by it, and
// refuse a peer whose id comes back with another folder. That peer joins under a new id, and the other peers
// send it their snapshot.
package raftstore
