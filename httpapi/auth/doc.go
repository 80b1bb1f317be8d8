// Package auth says who a request comes from, and what they may.
//
//	caller.go  who a request comes from
package auth
