//go:build race

package e2e

import "testing"

// buildFlags build the program as the tests are built; with -short, where time is scarce, without the race detector.
func buildFlags() []string {
	if testing.Short() {
		return nil
	}
	return []string{"-race"}
}
