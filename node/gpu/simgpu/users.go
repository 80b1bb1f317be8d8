package simgpu

import (
	"bytes"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// variable tells which GPUs a process was given.
const variable = "BERTH_GPU_UUIDS="

// tick is what /proc counts CPU time in.
const tick = 10 * time.Millisecond

// process names a process, not only its number.
type process struct {
	pid  int
	born uint64
}

// gpuUser is a process with GPUs.
type gpuUser struct {
	id       process
	gpus     string // UUIDs, separated by commas
	cpu      time.Duration
	memoryMB uint32
	owner    uint32
}

func (u gpuUser) on(id model.GPUID) bool {
	for g := range strings.SplitSeq(u.gpus, ",") {
		if g == string(id) {
			return true
		}
	}
	return false
}

func (u gpuUser) process() model.Process {
	p := model.Process{PID: int32(u.id.pid), MemoryMB: u.memoryMB, Managed: true} //nolint:gosec // at most 2^22
	id := strconv.FormatUint(uint64(u.owner), 10)
	if p.User = id; u.owner == 0 {
		p.User = "root"
	} else if known, err := user.LookupId(id); err == nil {
		p.User = known.Username
	}
	return p
}

// findUsers lists the living processes that have GPUs in their environment. Of one
// that has ended, and is not reaped yet, the environment is empty.
func findUsers() (out []gpuUser) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if u, ok := lookAt(pid); ok {
			out = append(out, u)
		}
	}
	return out
}

func lookAt(pid int) (gpuUser, bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	env, err := os.ReadFile(dir + "/environ") //nolint:gosec // of a process
	if err != nil {
		return gpuUser{}, false
	}
	gpus := ""
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, is := bytes.CutPrefix(entry, []byte(variable)); is {
			gpus = string(value) // the last one counts for the process, too
		}
	}
	if gpus == "" {
		return gpuUser{}, false
	}
	u := gpuUser{id: process{pid: pid}, gpus: gpus}
	stat, err := os.ReadFile(dir + "/stat") //nolint:gosec // of a process
	if err != nil {
		return gpuUser{}, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 {
		return gpuUser{}, false
	}
	number := func(i int) uint64 { n, _ := strconv.ParseUint(string(fields[i]), 10, 64); return n }
	u.cpu = time.Duration(number(11)+number(12)) * tick //nolint:gosec // CPU time
	u.id.born = number(19)
	u.memoryMB = uint32(number(21) * uint64(os.Getpagesize()) >> 20) //nolint:gosec // resident pages
	u.owner = ownerOf(dir)
	return u, true
}

func ownerOf(dir string) uint32 {
	data, err := os.ReadFile(dir + "/status") //nolint:gosec // of a process
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Uid:" {
			n, _ := strconv.ParseUint(f[1], 10, 32)
			return uint32(n) //nolint:gosec // parsed as 32 bits
		}
	}
	return 0
}
