// Package build knows the version of a program.
package build

import "runtime/debug"

// Version returns the module's version, and for a build from a work tree the commit; "devel" or
// "unknown" if the program contains neither.
func Version() string {
	info, known := debug.ReadBuildInfo()
	if !known {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
