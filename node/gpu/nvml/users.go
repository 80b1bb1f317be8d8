//go:build linux && cgo

package nvml

import (
	"errors"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
)

// What a GPU has in use without processes: the driver's own share, which older libraries count as used.
const (
	restMB    = 256
	oldRestMB = 1024
)

// users reads the processes on the GPU, and whether memory is in use that no process accounts for. Programs
// that only draw do not count, nor does their memory.
func (r *reader) users() {
	list, ret := r.handle.GetComputeRunningProcesses()
	if errors.Is(ret, nvml.ERROR_NOT_SUPPORTED) {
		list, ret = nil, nvml.SUCCESS
	}
	used, rest, known := r.memory()
	if !r.must(ret) || !known {
		return
	}
	r.look.Point.MemoryUsedMB = used
	for _, p := range list {
		r.add(p)
	}
	if len(list) == 0 && used > rest {
		drawing, ret := r.handle.GetGraphicsRunningProcesses()
		r.look.Leftover = !r.ok(ret) || len(drawing) == 0
	}
}

// memory reads how much is in use, and how much of it is the driver's at most.
func (r *reader) memory() (used, rest uint32, known bool) {
	if r.has("nvmlDeviceGetMemoryInfo_v2") {
		if m, ret := r.handle.GetMemoryInfo_v2(); good(ret) {
			return megabytes(m.Used), restMB, true
		}
	}
	m, ret := r.handle.GetMemoryInfo()
	if errors.Is(ret, nvml.ERROR_NOT_SUPPORTED) {
		return 0, restMB, true // a GPU that shares the host's memory
	}
	return megabytes(m.Used), oldRestMB, r.must(ret)
}

// add lists a process, once.
func (r *reader) add(p nvml.ProcessInfo) {
	memory := p.UsedGpuMemory
	if memory > 1<<62 {
		memory = 0 // the driver does not report it
	}
	pid := int32(p.Pid & 0x7fffffff)
	same := func(u gpu.Process) bool { return u.PID == pid }
	if i := slices.IndexFunc(r.look.Processes, same); i >= 0 {
		r.look.Processes[i].MemoryMB += megabytes(memory)
		return
	}
	r.look.Processes = append(r.look.Processes, gpu.Process{
		Process: model.Process{PID: pid, User: proc.User(int(pid)), MemoryMB: megabytes(memory)}, Name: proc.Name(int(pid)),
	})
}
