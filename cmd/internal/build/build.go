// Package build says which version a program is of.
package build

import "runtime/debug"

// Version is the module's version, and of a build from a work tree the commit;
// "devel" or "unknown" if neither is written down in the program.
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
