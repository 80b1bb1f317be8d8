package simgpu

import (
	"strings"
	"time"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
)

// variable is the environment variable with the GPUs of a process.
const variable = "BERTH_GPU_UUIDS"

// gpuUser is a process with GPUs.
type gpuUser struct {
	id       proc.ID
	gpus     string // UUIDs, separated by commas
	cpu      time.Duration
	memoryMB uint32
}

func (u gpuUser) on(id model.GPUID) bool {
	for g := range strings.SplitSeq(u.gpus, ",") {
		if g == string(id) {
			return true
		}
	}
	return false
}

func (u gpuUser) process() gpu.Process {
	return gpu.Process{
		Process: model.Process{PID: int32(u.id.PID), MemoryMB: u.memoryMB, User: proc.User(u.id.PID)},
		Name:    proc.Name(u.id.PID),
	}
}

// findUsers returns the living processes that have GPUs in their environment. The environment of one that has
// ended, and is not reaped yet, is empty.
func findUsers() (out []gpuUser) {
	for pid := range proc.All() {
		env, _ := proc.Environ(pid)
		gpus := proc.Variable(env, variable)
		if gpus == "" {
			continue
		}
		if s, ok := proc.Look(pid); ok {
			out = append(out, gpuUser{id: s.ID, gpus: gpus, cpu: s.CPU, memoryMB: uint32(s.Resident >> 20)})
		}
	}
	return out
}
