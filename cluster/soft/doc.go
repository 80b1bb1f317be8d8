// Package soft keeps what is worth knowing and not worth a log entry: what GPUs
// measure of themselves, and the last words of jobs whose node is away. Losing it
// loses no job.
//
//	board.go  the newest sample of every GPU, in memory, at the leader
//	tails.go  the ends of ranks' output, in files, at every peer
package soft
