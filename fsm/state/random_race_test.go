//go:build race

package state

// underRace says that the race detector slows everything down.
const underRace = true
