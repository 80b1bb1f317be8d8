// Package simulate plays a trace of jobs through the production scheduler, in
// virtual time: what it does on a cluster of so many nodes, and what that is worth.
//
// A [Run] holds a state as a cluster would, changes it by commands only, and asks
// [sched.Plan] what to do after every event, exactly as a leader does. Only the
// processes are made up: a job runs for as long as the trace says, a suspended one
// goes on where it was, after a restart that costs time and counts as no work.
//
//	trace.go     reads a trace
//	run.go       the run: events, in order
//	cluster.go   its cluster: a state that commands change
//	measure.go   what came of it
package simulate
