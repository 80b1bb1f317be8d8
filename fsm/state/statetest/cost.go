package statetest

import (
	"math"
	"runtime"
	"testing"
)

// Cost is the most that one run of an operation may allocate. Unlike times, allocations are the same on any machine, so that a test can
// hold them. A commit that raises a bound gives the reason.
type Cost struct{ Allocations, Bytes float64 }

// slack is by how much a cost may be below its bound until the bound must follow.
const slack = 0.25

// CheckCost measures what an operation allocates, as the least mean of some rounds of n runs, and compares it with a bound. Other
// goroutines count, too: the test must not be parallel to others. With the race detector nothing is checked.
func CheckCost(t *testing.T, what string, most Cost, n int, run func()) {
	t.Helper()
	if raced {
		t.Skip("the race detector allocates, too")
	}
	got := Cost{math.Inf(1), math.Inf(1)}
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range n {
			run()
		}
		runtime.ReadMemStats(&after)
		got.Allocations = min(got.Allocations, float64(after.Mallocs-before.Mallocs)/float64(n))
		got.Bytes = min(got.Bytes, float64(after.TotalAlloc-before.TotalAlloc)/float64(n))
	}
	t.Logf("%s: %.0f allocations, %.0f bytes", what, got.Allocations, got.Bytes)
	switch {
	case got.Allocations > most.Allocations || got.Bytes > most.Bytes:
		t.Errorf("%s makes %.0f allocations of %.0f bytes; allowed are %.0f and %.0f. Make it cheaper, or raise the bound and say in the commit why",
			what, got.Allocations, got.Bytes, most.Allocations, most.Bytes)
	case got.Allocations < (1-slack)*most.Allocations || got.Bytes < (1-slack)*most.Bytes:
		t.Errorf("%s makes %.0f allocations of %.0f bytes, well below the bounds of %.0f and %.0f: lower them", what, got.Allocations, got.Bytes,
			most.Allocations, most.Bytes)
	}
}
