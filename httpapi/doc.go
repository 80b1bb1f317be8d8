// Package httpapi is a peer's HTTP API: it parses requests, proposes commands, waits for their
// results, and answers. Any peer accepts any request; httpapi/forward sends writes to the leader.
//
// This package is the list of all routes, in routes.go. The parts, from the lowest up:
//
//	wire, agentwire, endpoint  the forms of requests and answers, and addresses
//	problem   errors: one table from code to status
//	strict    JSON and queries, parsed strictly
//	auth      credentials and rights; forward sends requests to the leader
//	intake    requests as commands
//	view      the state as answers
//	forecast  places in the queue and forecasts, cached
//	workload  what a workload needs; advice asks other services
//	port      the interfaces of the peer that the API needs
//	meter     metrics for Prometheus
//	front     what all answers have alike: time, version, compression
//	core      what all handlers share: the router, rights, reads, proposals, the server
//	agentapi  the calls of agents, and of other peers
//	jobs, fleet, services, admin  the handlers by subject
//	compat    the forms of experiment trackers, and state files
//	apitest   the API over a cluster of a test's, for the tests of all these
//
// A request passes core's wrapper (around.go) to a handler, which makes a command of it with intake and
// proposes it, or reads a state and answers with view.
//
// docs/api.md is the user's view of all this.
package httpapi
