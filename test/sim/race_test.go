//go:build race

package sim

// seedsByDefault and shortSeeds are fewer than without the race detector, which makes each cluster
// cost more than five times as much.
const (
	underRace      = true
	seedsByDefault = 12
	shortSeeds     = 1
)
