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

// How long the environment of a process without GPUs is believed. A process gets another one by an exec only, which most
// processes do right after their start.
const (
	young  = 2 * time.Second
	reread = 5 * time.Second
)

// without is a process that had no GPUs in its environment.
type without struct {
	folder uint64 // inode
	first  time.Time
	next   time.Time // when its environment is read again
}

// findUsers returns the living processes that have GPUs in their environment. The environment of one that has
// ended, and is not reaped yet, is empty.
func (p *Probe) findUsers() (out []gpuUser) {
	now, still := time.Now(), make(map[int]without, len(p.others))
	for pid, folder := range proc.Listed() {
		w, known := p.others[pid]
		if known = known && w.folder == folder; known && now.Before(w.next) {
			still[pid] = w
			continue
		}
		env, sure := proc.Environ(pid)
		gpus := proc.Variable(env, variable)
		if gpus == "" {
			if !known {
				w = without{folder: folder, first: now}
			}
			if sure && now.Sub(w.first) >= young {
				w.next = now.Add(reread)
			}
			still[pid] = w
			continue
		}
		if s, ok := proc.Look(pid); ok {
			out = append(out, gpuUser{id: s.ID, gpus: gpus, cpu: s.CPU, memoryMB: uint32(s.Resident >> 20)})
		}
	}
	p.others = still
	return out
}
