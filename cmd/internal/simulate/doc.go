// Package simulate runs a trace of jobs through the production scheduler in virtual time, and
// measures the result: waiting times, completion times and utilization of a cluster.
//
// A [Run] holds a state as a cluster would, changes it by commands only, and calls [sched.Plan]
// after every event, exactly as a leader does. Only the processes are simulated: a job runs for as
// long as the trace says, a suspended one goes on where it was, after a restart that costs time and
// counts as no work.
//
//	trace.go     reads a trace; spec.go the submissions of its jobs
//	hosts.go     reads the nodes of a cluster
//	history.go   a trace from the jobs that a cluster has run
//	run.go       the run: events, in order
//	cluster.go   its cluster: a state that commands change
//	measure.go   the results; foretold.go how far forecasts came true
//	plot.go      the results as a picture or a page
//
//berth:single
package simulate
