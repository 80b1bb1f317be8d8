// Package simulate runs a trace of jobs through the production scheduler in virtual time, and
// measures the result: waiting times, completion times and utilization of a cluster.
//
// A [Run] holds a state as a cluster would, changes it by commands only, and calls [sched.Plan]
// after every event, exactly as a leader does. Only the processes are simulated: a job runs for as
// long as the trace says, a suspended one goes on where it was, after a restart that costs time and
// counts as no work.
//
//berth:single
package simulate
