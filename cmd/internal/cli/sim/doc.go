// Package sim holds the command berth simulate: a trace of jobs, or the history of a cluster, under a policy.
package sim
