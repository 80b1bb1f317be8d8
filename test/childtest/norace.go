//go:build !race

package childtest

// buildFlags build the program as the tests are built, so that what was compiled for
// them serves the program, too.
func buildFlags() []string { return nil }
