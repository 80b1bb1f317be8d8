//go:build !race

package sim

// defaultSeeds is how many seeds are played unless a flag says otherwise.
const defaultSeeds = 50
