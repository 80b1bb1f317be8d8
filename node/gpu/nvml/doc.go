// Package nvml sees real NVIDIA GPUs, through the driver's own library. It is the
// only package that needs cgo: built without it, or for another system than Linux,
// it can only say so. Without a driver it builds and starts, too, since the library
// is loaded when the first GPU is looked for.
//
//	open.go    the library, and what it cannot do
//	list.go    which GPUs there are, also parts of divided ones (MIG)
//	place.go   how they are connected: NVLink and NUMA
//	look.go    what one measures, and how it is
//	users.go   who is on it
//	events.go  faults that it reports by itself: Xids
//	kmsg.go    whom the kernel's log blames for them
//
// A driver in trouble is something to be read, never an error of this program: a GPU
// that has fallen off the bus, one that must be reset, a library that is not there or
// that hangs. A call that the installed library does not have is not made, since the
// dynamic linker would end the program.
//
// While an agent has the library open, a GPU cannot be reset: stop the agent first.
// Its jobs go on without it.
package nvml

import "errors"

// ErrMissing says that there is no NVIDIA driver, or that this program was built
// without support for it.
var ErrMissing = errors.New("no NVIDIA driver")

// Options are what a probe is given. The zero Options are right for a real host.
type Options struct {
	Library string // path of the driver's library; "": where the dynamic linker finds it
	Sys     string // where the kernel describes devices; "": /sys
	Kmsg    string // the kernel's log; "": /dev/kmsg
}
