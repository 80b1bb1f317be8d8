// Package intake converts requests to commands: each is parsed, completed with defaults and checked
// before a command is made of it. All functions are pure, and the state is only read.
//
//berth:pure
package intake
