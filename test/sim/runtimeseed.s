//go:build simoverlay

// Lets runtimeSeed have no body: the overlay of the runtime provides it.
