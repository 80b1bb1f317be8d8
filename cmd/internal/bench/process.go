package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/devcluster"
)

// tick is the kernel's unit of processor time, which has been a hundredth of a
// second on every Linux for decades.
const tick = 10 * time.Millisecond

// processorTime returns the processor time of all processes of a cluster and of this one.
func processorTime(members []devcluster.Member) (total time.Duration) {
	total = timeOf(os.Getpid())
	for _, m := range members {
		total += timeOf(m.PID)
	}
	return total
}

// timeOf returns the processor time of one process; 0 if it has ended.
func timeOf(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:]) // the name may hold anything
	const user, system = 11, 12
	if len(fields) <= system {
		return 0
	}
	u, _ := strconv.ParseInt(fields[user], 10, 64)
	s, _ := strconv.ParseInt(fields[system], 10, 64)
	return time.Duration(u+s) * tick
}

// resident returns a process's resident memory in bytes.
func resident(pid int) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if value, is := strings.CutPrefix(line, "VmRSS:"); is {
			kb, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kb * 1024
		}
	}
	return 0
}
