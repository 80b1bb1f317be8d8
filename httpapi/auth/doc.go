// Package auth identifies the caller of a request, and checks the rights of callers.
//
//	caller.go  the caller of a request
//	client.go  the address of a client, behind trusted proxies
//	routes.go  the one table of the role that each route needs
//	token.go   tokens: drawn, read from a request, and looked up by their hashes
//	keys.go    keys from the peers' configuration
//	limit.go   limits on the rate of requests
//
// It decides from its arguments and reads no state: the API looks up the user of a token.
//
//berth:single
package auth
