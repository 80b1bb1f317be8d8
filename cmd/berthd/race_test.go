//go:build race

package main

// buildFlags build the program as the tests are built, so that what was compiled for
// them serves it, too.
func buildFlags() []string { return []string{"-race"} }
