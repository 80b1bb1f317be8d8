// Package sim holds the command berth simulate: a trace of jobs, or the history of a cluster, under a policy.
//
//	simulate.go    the command: its flags, the jobs and nodes, the results
//	past.go        the history of a cluster
//	textbook.go    orders of the literature, for comparison
package sim
