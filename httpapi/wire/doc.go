// Package wire holds the shapes of the HTTP API: what users and programs send and
// get, as JSON, and nothing else.
//
//	submit.go   what a user asks for
//	job.go      a job, its timeline and its attempts
//	queue.go    the queue, its statistics, the orchestrator
//	explain.go  why a job waits
//	fleet.go    GPUs and nodes
//	peers.go    the peers
//	problem.go  errors
//	units.go    numbers and durations that may be written in several ways
//
// Names are snake_case and carry their unit (_gb, _seconds, _percent); times are
// RFC 3339 in UTC. A request's field that has a default is a pointer, so that a
// value that was given can be told from one that was not.
package wire
