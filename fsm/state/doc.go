// Package state is the replicated state of a cluster: its rows, and what is read from them.
//
// A [State] is an immutable value over persistent ordered tables: keep it, read it from any goroutine,
// compare it with the next one. Package apply makes the next state from one log entry; package tx holds the
// entry while its commands are carried out; package snapshot writes and reads states; package check tests the
// invariants of states and of moves between them.
//
//berth:pure
package state
