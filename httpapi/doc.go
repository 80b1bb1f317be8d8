// Package httpapi is a peer's HTTP API: it parses requests, proposes commands, waits for their
// results, and answers. Any peer accepts any request; httpapi/forward sends writes to the leader.
//
// The server:
//
//	api.go        an API over a peer: its parts and its routes
//	ports.go      the interfaces of the peer that it needs
//	serve.go      listening, limits and the end
//	conns.go      the most open connections; shares.go the most open requests of a caller
//	around.go     the wrapper of every handler: panics, deadlines, metrics
//	gate.go       authentication, roles and rates; caller.go the caller for the audit trail
//	hold.go       ends long requests whose caller loses the right to them
//	person.go     what a user may ask for: names, projects, classes; found.go the first token
//	terms.go      settings that change while it runs; rules.go what jobs may run
//	problem.go    errors: one table from code to status
//	strict.go     JSON and queries, parsed strictly
//	read.go       consistency, and waits for changes; wakes.go shares the waits; etag.go unchanged lists
//	metrics.go    metrics for Prometheus, with series.go and predict.go
//
// Jobs:
//
//	submit.go     submissions; trial.go limits on dry runs
//	ask.go        a submission as a command, with ask_array.go, ask_signal.go and ask_where.go
//	unask.go      a spec as a submission
//	change.go     cancel, priority, and the orchestrator's switches; control.go hold, requeue, extend, attach
//	queue.go      the queue and its statistics; order.go places in the queue, plan.go the forecast
//	job.go        a job in a list; array.go tasks of an array; detail.go one job; shown.go hides commands
//	logs.go       a job's output, from its node
//	runs.go       jobs by the run ids of experiment trackers
//	past.go       jobs that have ended; usage.go GPU-hours
//
// The fleet:
//
//	fleet.go      GPUs and nodes; samples.go their telemetry; history.go the telemetry of the last minutes
//	operate.go    changes of nodes and GPUs; reserve.go reservations
//	peers.go      peers and health; clusterstate.go the fleet in the terms of experiment trackers
//	agents.go     the calls of agents, and of other peers
//
// Services without a job:
//
//	allocate.go   GPUs for services; sized.go how many; allocations.go lists of them
//	analyze.go    what a workload needs; advise.go asks other services
//
// Administration:
//
//	quota.go      limits and shares; pools.go how GPUs are divided; policy.go the order of the queue
//	settings.go   settings of the whole cluster
//	people.go     users and tokens
//	audit.go      the audit trail; reading.go records of reads of other users' data
//	events.go     streams of events
//	webhooks.go   webhooks; hookowner.go the rights to them; deliveries.go what was delivered
//	export.go     state files; imports.go, imported.go, resettle.go and services_saved.go read them
//
// docs/api.md is the user's view of all this.
package httpapi
