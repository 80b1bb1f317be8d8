//go:build race

package sim

// How many seeds are played and how long each lasts, unless a flag says
// otherwise: under the race detector a minute costs ten times as much, and CI
// must end some time.
const (
	usualSeeds   = 10
	usualMinutes = 2
)
