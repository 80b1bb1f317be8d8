// Package soft holds useful data that is not worth a log entry: the measurements of GPUs, and the last output
// of jobs whose node is away. Losing it loses no job.
//
//	board.go  the newest sample of every GPU, in memory, at the leader
//	tails.go  the ends of ranks' output, in files, at every peer
package soft
