//go:build linux && cgo

package nvml

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// Probe reads the GPUs of this host.
type Probe struct {
	lib     nvml.Interface
	options Options

	starting sync.Mutex // held while the library is loaded

	mu    sync.Mutex
	ready bool            // the library is loaded and has found the driver
	lacks map[string]bool // calls that it does not have
	units map[model.GPUID]*unit
	xids  map[model.GPUID][]judge.Xid // for the next look
	blame blame
}

var _ gpu.Probe = (*Probe)(nil)

// unit is a GPU, or a part of one.
type unit struct {
	id       model.GPUID
	handle   nvml.Device
	whole    nvml.Device // the GPU itself
	wholeID  model.GPUID
	instance int // of a part, or one of the constants below
	pci      string
}

// Values that are not an instance of a part.
const (
	whole           = -1
	unknownInstance = -2
)

func (u *unit) part() bool { return u.instance != whole }

// New returns a probe. Nothing is loaded before the first List.
func New(o Options) *Probe {
	var path []nvml.LibraryOption
	if o.Library != "" {
		path = append(path, nvml.WithLibraryPath(o.Library))
	}
	return newProbe(nvml.New(path...), o)
}

func newProbe(lib nvml.Interface, o Options) *Probe {
	o.Sys, o.Kmsg = cmp.Or(o.Sys, "/sys"), cmp.Or(o.Kmsg, "/dev/kmsg")
	return &Probe{lib: lib, options: o, units: map[model.GPUID]*unit{}, xids: map[model.GPUID][]judge.Xid{}, blame: blame{}}
}

// newer returns calls that libraries of drivers in use may lack.
func newer() []string {
	return []string{
		"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetRemappedRows", "nvmlDeviceGetFieldValues", "nvmlDeviceGetGpuFabricInfo",
		"nvmlDeviceGetNvLinkRemoteDeviceType", "nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount",
	}
}

// start loads the library, unless that was done.
func (p *Probe) start() error {
	p.starting.Lock()
	defer p.starting.Unlock()
	if p.started() {
		return nil
	}
	switch ret := p.lib.Init(); {
	case errors.Is(ret, nvml.ERROR_LIBRARY_NOT_FOUND):
		return fmt.Errorf("%w: libnvidia-ml.so.1 cannot be loaded; install the driver, or have GPUs simulated", ErrMissing)
	case errors.Is(ret, nvml.ERROR_DRIVER_NOT_LOADED):
		return errors.New("the NVIDIA driver is not loaded: run nvidia-smi as root to see why")
	case errors.Is(ret, nvml.ERROR_LIB_RM_VERSION_MISMATCH):
		return errors.New("the NVIDIA driver was upgraded and is still the old one in the kernel: restart the host")
	case !good(ret):
		return fmt.Errorf("NVML does not start: %w", ret)
	}
	lacks := map[string]bool{}
	for _, name := range newer() {
		lacks[name] = p.lib.Extensions().LookupSymbol(name) != nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready, p.lacks = true, lacks
	return nil
}

func (p *Probe) started() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready
}

// has reports whether the library has a call.
func (p *Probe) has(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.lacks[name]
}

// good reports whether a call has succeeded.
func good(ret nvml.Return) bool { return errors.Is(ret, nvml.SUCCESS) }
