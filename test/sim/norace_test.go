//go:build !race

package sim

// seedsByDefault is how many clusters a plain go test runs, shortSeeds how many it runs with -short.
const (
	underRace      = false
	seedsByDefault = 50
	shortSeeds     = 6
)
