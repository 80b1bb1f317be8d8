package figures

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cluster/raftstore"
)

// errNoDisk is the error of a folder whose file system keeps nothing.
var errNoDisk = errors.New("fsync costs nothing there and keeps nothing, so that the figures would mean nothing: " +
	"name a folder on a disk with --dir, or insist with --tmpfs")

// Machine describes what figures depend on; without inMemory it refuses a folder in memory.
func Machine(dir string, inMemory bool) (*Table, error) {
	sync, files, err := raftstore.ProbeFsync(dir)
	if err != nil {
		return nil, err
	}
	if !inMemory && (files == "tmpfs" || files == "ramfs") {
		return nil, fmt.Errorf("%s is on %s: %w", dir, files, errNoDisk)
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil, err
	}
	t := &Table{Title: "Machine", Head: []string{"what", "value"}}
	t.Add("date", time.Now().UTC().Format("2006-01-02 15:04 MST"))
	t.Add("processor", fmt.Sprintf("%s, %d cores", processor(), runtime.NumCPU()))
	t.Add("kernel", unix.ByteSliceToString(u.Release[:]))
	t.Add("go", runtime.Version())
	t.Add("file system", files)
	t.Add("fdatasync of 4 KiB, p50", Millis(sync))
	t.Add("load average at the start", strings.Join(strings.Fields(string(load))[:3], " "))
	return t, nil
}

// processor returns the processor's name, as the kernel gives it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer func() { _ = f.Close() }()
	for in := bufio.NewScanner(f); in.Scan(); {
		if name, value, ok := strings.Cut(in.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
