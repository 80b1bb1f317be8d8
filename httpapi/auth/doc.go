// Package auth identifies the caller of a request, and checks the rights of callers.
//
// It decides from its arguments and reads no state: the API looks up the user of a token.
//
//berth:single
package auth
