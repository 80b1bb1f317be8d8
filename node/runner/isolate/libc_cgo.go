//go:build cgo && !osusergo

package isolate

// libc is whether os/user asks the C library, which knows every account of the host.
const libc = true
