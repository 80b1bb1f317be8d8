package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow: the bubbles leave much of it and hold little. Who asks
// for something else by GOGC has it.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	os.Exit(m.Run())
}
