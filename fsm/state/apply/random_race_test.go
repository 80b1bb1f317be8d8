//go:build race

package apply

// underRace says that the race detector slows everything down.
const underRace = true
