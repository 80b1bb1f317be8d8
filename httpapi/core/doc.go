// Package core is what all handlers of the HTTP API share: the router, the identity and the rights of
// callers, reads that wait for changes, proposals of commands, and the server around them.
//
//	api.go      an API over a peer, and how operations are added and described, with schema.go and describe.go; answer.go what they return
//	config.go   what an API is over
//	serve.go    listening, limits and the end
//	conns.go    the most open connections; shares.go the most open requests of a caller
//	around.go   the wrapper of every handler: panics, deadlines, metrics
//	gate.go     authentication, roles and rates; found.go the first token
//	person.go   what a caller may ask for and see: names, projects, classes
//	caller.go   the sender of a request for the audit trail; reading.go records of reads of others' data
//	hold.go     ends long requests whose caller loses the right to them
//	terms.go    settings that change while the API runs
//	read.go     consistency, and waits for changes; wakes.go topics, and shared waits; etag.go unchanged lists
//	propose.go  proposals of commands
//	samples.go  calls between peers; mirror.go what only the leader knows, and requests to agents
package core
