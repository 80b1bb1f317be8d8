//go:build race

package sim

// defaultSeeds leaves room for other tests: the race detector makes a seed ten times
// as dear.
const defaultSeeds = 16
