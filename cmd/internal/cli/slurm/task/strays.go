package task

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/jobfile"
)

// endStrays kills what tasks of a step have left behind in other process groups, such as the workers of a launcher that was
// killed: all processes of this account that have the variables of this rank and of the step. Nothing else has both.
func (n *Node) endStrays(step int) {
	marks := [][]byte{
		[]byte("\x00" + jobfile.Variable + "=" + os.Getenv(jobfile.Variable) + "\x00"),
		[]byte("\x00SLURM_STEP_ID=" + strconv.Itoa(step) + "\x00"),
	}
	if os.Getenv(jobfile.Variable) == "" {
		return
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		var stat unix.Stat_t
		if unix.Stat(filepath.Join("/proc", e.Name()), &stat) != nil || int(stat.Uid) != os.Getuid() {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0) // first, so that the number belongs to the process whose variables are read
		if err != nil {
			continue
		}
		if hasAll(filepath.Join("/proc", e.Name(), "environ"), marks) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may have ended meanwhile
		}
		_ = unix.Close(fd)
	}
}

// hasAll reports whether the variables in a file of /proc have all marks.
func hasAll(path string, marks [][]byte) bool {
	data, err := os.ReadFile(path) //nolint:gosec // a file of /proc
	if err != nil {
		return false
	}
	data = append(append([]byte{0}, data...), 0)
	for _, mark := range marks {
		if !bytes.Contains(data, mark) {
			return false
		}
	}
	return true
}
