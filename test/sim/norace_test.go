//go:build !race

package sim

// seedsByDefault is how many clusters a plain go test runs.
const seedsByDefault = 50
