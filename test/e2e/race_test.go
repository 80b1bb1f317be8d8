//go:build race

package e2e

// buildFlags build the program as the tests are built.
func buildFlags() []string { return []string{"-race"} }
