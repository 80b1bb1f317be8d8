// Package wire holds the JSON types of the HTTP API, and nothing else.
//
//	submit.go      a submission, and changes of jobs and nodes
//	job.go         a job, its timeline and its attempts
//	queue.go       the queue, its statistics, the orchestrator; plan.go the forecast
//	explain.go     why a job waits
//	past.go        jobs that have ended, GPU-hours
//	run.go         jobs and the fleet in the terms of experiment trackers
//	fleet.go       GPUs and nodes; peers.go the peers
//	allocation.go  GPUs for services; workload.go what a workload needs
//	quota.go       limits, shares and pools; reservation.go reservations
//	policy.go      the order of the queue; settings.go settings of the cluster
//	people.go      users and tokens; audit.go the audit trail
//	event.go       events and webhooks
//	snapshot.go    state files
//	problem.go     errors
//	units.go       numbers and durations that may be written in several ways; text.go checks of text
//
// Names are snake_case and carry their unit (_gb, _seconds, _percent); times are RFC 3339 in UTC. A
// request's field that has a default is a pointer, so that a given value can be distinguished from
// a missing one.
//
//berth:single
package wire
