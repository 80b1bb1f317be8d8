// Package command holds the verbs: every change of the replicated state as data.
//
// A command has a kind, whose number never changes, an actor, a body, and for requests that may be repeated a
// request id. Commands that wait at the same time travel together in one log entry (group commit), each with
// a result of its own.
//
// Entries are CBOR in its core deterministic form with integer keys, written and read only here. Anything
// that a program does not know - a kind, a field, a version - is an [UnknownError]: such an entry was written
// by a newer program, and guessing would make peers differ, so the peer stops there. A known but invalid
// command has Err set, and every peer refuses it alike.
//
//berth:pure
package command
