// Package soft holds useful data that is not worth a log entry: the measurements of GPUs, and the last output
// of jobs whose node is away. Losing it loses no job.
package soft
