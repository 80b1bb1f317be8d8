package sim

import "testing"

// With the runtime's overlay, a seed gives one and the same run.
func TestReplay(t *testing.T) {
	if !overlaid {
		t.Skip("needs the overlay of test/sim/overlay")
	}
	first := run(t, setup(*seedFlag, 1), nil)
	again := run(t, setup(*seedFlag, 1), nil)
	if first.Hash != again.Hash {
		t.Errorf("seed %d gave the traces %s and %s", *seedFlag, first.Hash, again.Hash)
	}
}
