// Package history keeps 24 hours of a cluster at one record a minute: GPUs, jobs, waits and load. Every peer has the
// same records. They are telemetry and never enter the log: the leader takes one each minute, and the other peers fetch
// from the leader what they lack.
//
// A record names the term of the leader that took it. A leader takes at most one for a minute, so minute and term name a
// record. Of two records for a minute that of the higher term counts on every peer. A minute in which no peer led has no
// record.
package history
