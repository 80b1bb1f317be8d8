// Package httpapi is a peer's HTTP API: it decodes, has commands proposed, waits,
// and answers. Any peer takes any request; httpapi/forward brings writes to the
// leader.
//
//	api.go      an API over a peer: its parts and its routes
//	ports.go    what it needs of the peer
//	serve.go    listening, limits and the end
//	around.go   what surrounds every handler: panics, deadlines, metrics
//	problem.go  errors: one table from code to status
//	strict.go   JSON that is read to the letter
//	read.go     consistency, and waiting for changes; wakes.go shares the waits
//	submit.go   submissions; ask.go turns what a user asks into a command
//	change.go   cancel, priority, and the orchestrator's switches
//	queue.go    the queue and its statistics; order.go in which order it waits
//	job.go      a job in a list; detail.go all about one
//	logs.go     a job's output, from its node
//	fleet.go    GPUs and nodes; samples.go what they measure
//	peers.go    peers and health
//	audit.go    the audit trail; caller.go who asks, and refusals that the log never sees
//	agents.go   what agents say
//	metrics.go  for Prometheus
//
// docs/api.md is the user's view of all this.
package httpapi
