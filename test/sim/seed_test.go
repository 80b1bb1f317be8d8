//go:build !simoverlay

package sim

import "testing"

// overlaid is whether the runtime draws its choices from the seed.
const overlaid = false

// seedRuntime does nothing: the runtime draws as it likes.
func seedRuntime(*testing.T, uint64) {}
