package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow: the bubbles leave much of it and hold little. A GOGC in the environment
// overrides that.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	os.Exit(m.Run())
}
