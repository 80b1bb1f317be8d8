// Package wire holds the JSON types of the HTTP API, and nothing else.
//
// Names are snake_case and carry their unit (_gb, _seconds, _percent); times are RFC 3339 in UTC. A
// request's field that has a default is a pointer, so that a given value can be distinguished from
// a missing one.
//
//berth:single
package wire
