// Package archive stores, in one file of each peer, what the state drops: every record of the audit trail,
// and the history of jobs that have ended.
//
// Records come from the FSM as entries are applied ([Archive.Note]) and are written in batches by a goroutine
// of their own ([Archive.Run]), so that no disk ever delays applying. Each is linked by a hash to all before
// it, and the last hash is part of the replicated state: so a missing record can be taken from any other
// peer, record by record and newest first, without trusting that peer. Missing records are a hole, which is
// stored in the file like the rest.
//
// Histories are written when a job ends and once more when it leaves the state. A peer reports the log index
// to which its archive is complete; jobs leave the state only when a majority's archives are complete beyond
// their end.
package archive
