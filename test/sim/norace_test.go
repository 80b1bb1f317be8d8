//go:build !race

package sim

// How many seeds are played and how long each lasts, unless a flag says otherwise.
const (
	usualSeeds   = 50
	usualMinutes = 4
)
