//go:build race

package arch

// buildFlags have the packages compiled as these tests are, so that what the tests
// have compiled serves here, too.
func buildFlags() []string { return []string{"-race"} }
