// Package build knows the version of a program.
package build

import "runtime/debug"

// released is the version of a release. The linker sets this variable (-X), because what Go notes by itself depends on the
// kind of work tree in which a program is built.
var released string

// Version returns the version of the release, or else the module's version, and for a build from a work tree the commit;
// "devel" or "unknown" if the program contains none of them.
func Version() string {
	if released != "" {
		return released
	}
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
