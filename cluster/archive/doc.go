// Package archive keeps, in one file of each peer, what the state does not: every
// record of the audit trail, and the history of jobs that have ended.
//
// Records come from the FSM as entries are applied ([Archive.Note]) and are written
// in batches by a goroutine of their own ([Archive.Run]), so that no disk ever holds
// the applying up. Each is linked by a hash to all before it, and the last hash
// stands in the replicated state: so what is missing here can be taken from any other
// peer, record by record and newest first, without trusting it. What is missing is a
// hole, which is kept in the file like the rest.
//
// Histories are written when a job ends and once more when it leaves the state. A
// peer reports the log index to which its archive is complete; jobs leave the state
// only when a majority's archives are complete beyond their end.
package archive
