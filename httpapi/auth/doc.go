// Package auth says who a request comes from, and what they may.
//
//	caller.go  who a request comes from
//	routes.go  the one table of what each route asks for
//	token.go   tokens: drawn, read from a request, and known by their hashes
//	keys.go    keys from the peers' configuration
//	proof.go   how a peer proves to another that it is one
//	limit.go   how often somebody may ask
//
// It decides from what it is given and looks at no state: the API looks up whose a
// token is.
package auth
