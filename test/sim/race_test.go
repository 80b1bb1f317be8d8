//go:build race

package sim

// seedsByDefault is how many clusters make test runs: the race detector makes each cost
// more than ten times as much.
const seedsByDefault = 12
