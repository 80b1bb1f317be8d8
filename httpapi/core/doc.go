// Package core is what all handlers of the HTTP API share: the router, the identity and the rights of
// callers, reads that wait for changes, proposals of commands, and the server around them.
package core
