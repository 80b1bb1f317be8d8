//go:build simoverlay

package sim

import (
	"math/rand"
	"runtime"
	"testing"
	"testing/cryptotest"
	_ "unsafe" // for go:linkname, by which the overlay provides runtimeSeed
)

// overlaid is whether the runtime draws its choices from the seed.
const overlaid = true

// runtimeSeed is the overlay's.
func runtimeSeed(seed uint64)

// seedRuntime makes every choice that is made in this bubble depend on the seed.
func seedRuntime(t *testing.T, seed uint64) {
	t.Helper()
	runtime.GC()
	for range 1000 { // let what the start of the process has left behind come to rest
		runtime.Gosched()
	}
	runtimeSeed(seed)
	cryptotest.SetGlobalRandom(t, seed)
	rand.Seed(int64(seed)) //nolint:gosec,staticcheck // libraries draw from it
}
