package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/berth-gpu/berth/files/private"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
)

// runFile stores the path of the run folder of this boot.
const runFile = "run"

// OpenRun makes the run folder of a data folder, in memory below dir. A run folder that supervisors of a
// previous agent may use is kept. If none can be made below dir, the run folder is in the data folder, and
// the warning describes the consequences.
func OpenRun(j *journal.Journal, boot, dir string) (run runner.RunFolder, warning string, err error) {
	var had runner.RunFolder // a damaged file counts as missing: the default is the same folder
	if j.Get(runFile, &had) == nil && had.Boot == boot && own(had.Path) == nil {
		return had, "", nil
	}
	run = runner.RunFolder{Path: filepath.Join(cmp.Or(dir, runner.DefaultRunDir), "berth-"+j.Lineage()), Boot: boot}
	if err := makeOwn(run.Path); err != nil {
		warning = fmt.Sprintf("no run folder in memory (%v): supervisors read their lease from the data folder, "+
			"and one that has to wait for a disk that hangs may be late for its fence", err)
		run.Path = filepath.Join(j.Dir(), "run.d")
		if err := makeOwn(run.Path); err != nil {
			return run, "", err
		}
	}
	return run, warning, j.Put(runFile, run)
}

// CloseRun removes a run folder that is no longer needed because no supervisor is left for a later agent to
// adopt. What cannot be removed disappears with the kernel.
func CloseRun(run runner.RunFolder, living int) {
	if living > 0 {
		return
	}
	for _, name := range run.Names() {
		if s, err := run.Status(name); err != nil || s.PID > 0 {
			return
		}
	}
	_ = os.RemoveAll(run.Path)
}

func makeOwn(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return own(path)
}

// own ensures that a path is a folder of this user, not a link, and closed to other users.
func own(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is there already and is no folder of this user", path)
	}
	_, err = private.Folder(path)
	return err
}

// MachineID returns the identity of this hardware: the mainboard's number, which only root can read, or
// otherwise that of the installed system.
func MachineID() (string, error) {
	for _, path := range []string{"/sys/class/dmi/id/product_uuid", "/etc/machine-id"} {
		data, err := os.ReadFile(path) //nolint:gosec // one of two
		if id := strings.ToLower(strings.TrimSpace(string(data))); err == nil && id != "" {
			return id, nil
		}
	}
	return "", errors.New("this machine has neither a product uuid nor /etc/machine-id: run systemd-machine-id-setup")
}

// MemoryMB returns the memory of this host in MiB; 0 if unknown.
func MemoryMB() uint32 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			kb, _ := strconv.ParseUint(f[1], 10, 42)
			return uint32(kb >> 10)
		}
	}
	return 0
}
