// Package nvml reads real NVIDIA GPUs through the driver's own library. It is the only package that needs
// cgo: built without cgo, or for another system than Linux, it only reports that. It also builds and starts
// without a driver, since the library is loaded at the first search for GPUs.
//
// A driver in trouble is something to be read, never an error of this program: a GPU that has fallen off the
// bus, one that must be reset, a library that is missing or hangs. A call that the installed library lacks is
// not made, since the dynamic linker would end the program.
//
// While an agent has the library open, a GPU cannot be reset: stop the agent first. Its jobs go on without
// it.
package nvml

import (
	"errors"

	"github.com/berth-gpu/berth/node/gpu"
)

// ErrMissing means that there is no NVIDIA driver, or that this program was built without support for it.
var ErrMissing = errors.New("no NVIDIA driver")

// Options are the settings of a probe. The zero Options are right for a real host.
type Options struct {
	Library string // path of the driver's library; "": where the dynamic linker finds it
	Sys     string // where the kernel describes devices; "": /sys
	Kmsg    string // the kernel's log; "": /dev/kmsg
}

// About is the driver and its GPUs.
type About struct {
	Driver string // version
	Cards  []Card
}

// Card is a GPU, or a part of one.
type Card struct {
	ID, Model, PCI   string
	MemoryMB         uint32
	Persistence, ECC string // on or off; empty: the GPU does not show it
	Processes        []gpu.Process
	Err              error // it cannot be read
}
