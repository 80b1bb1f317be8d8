//go:build race

package arch

// buildFlags returns flags with which packages are compiled like these tests, so that the build
// cache of the tests serves here, too.
func buildFlags() []string { return []string{"-race"} }
