// Package backup writes a cluster into one file, reads such files, and makes them at intervals.
//
// A backup is a tar archive that is compressed with zstd (RFC 8878), so that common programs show its parts:
//
//	backup.json  the [Description]: which cluster, as of when, by which program
//	state        the replicated state, in the form of the snapshots of peers (fsm/state/snapshot)
//	archive.db   the audit trail and the histories of ended jobs, as of the same time or later (cluster/archive)
//	keys.age     the private keys of the authority, sealed with age (age-encryption.org/v1)
//	SHA256SUMS   the hash of each part before, in the form of sha256sum(1)
//
// The parts stand in this order, and archive.db and keys.age may be missing. A file without its last part is incomplete: it
// is refused, as is a file with any bit changed, or of a newer program.
package backup
