package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/node/runner"
)

// homeVariable is in the environment of supervisors, and of no job: the lineage and the path of the data
// folder of the agent that started them, joined by a colon.
const homeVariable = "BERTH_SUPERVISOR"

// cardName is the name of the memory in which a supervisor shows its rank.
const cardName = "berth-rank"

// Home is an agent's data folder, as its supervisors know it.
type Home struct {
	Dir     string // absolute path; empty: supervisors are found by files only
	Lineage string
}

func (h Home) variable() string { return homeVariable + "=" + h.Lineage + ":" + h.Dir }

// card is where a supervisor shows its rank to agents that have lost the files: memory of its own without a
// name in any file system (memfd_create(2)), so that nothing can remove it. An agent reads the card by
// /proc/PID/fd, also while the supervisor is stopped.
type card struct{ file *os.File }

// newCard returns an empty card. On a kernel without such memory there is no card: agents then find
// supervisors by their files only.
func newCard() card {
	fd, err := unix.MemfdCreate(cardName, unix.MFD_CLOEXEC)
	if err != nil {
		return card{}
	}
	return card{os.NewFile(uintptr(fd), cardName)}
}

// show replaces what the card shows.
func (c card) show(s runner.Survivor) {
	if c.file == nil {
		return
	}
	if data, err := smallfile.Encode(s); err == nil {
		_, _ = c.file.WriteAt(data, 0) // what is torn meanwhile fails its checksum
		_ = c.file.Truncate(int64(len(data)))
	}
}

// clear empties the card.
func (c card) clear() {
	if c.file != nil {
		_ = c.file.Truncate(0)
	}
}

// readCard reads the card of a process; false: the process has no card, or an empty one.
func readCard(pid int) (runner.Survivor, bool) {
	fds := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(fds)
	if err != nil {
		return runner.Survivor{}, false
	}
	for _, e := range entries {
		path := filepath.Join(fds, e.Name())
		if to, err := os.Readlink(path); err != nil || !strings.HasPrefix(to, "/memfd:"+cardName+" ") {
			continue
		}
		for range 20 {
			if s, ok := readShown(path); ok {
				return s, s.Record != nil
			}
			time.Sleep(time.Millisecond) // it is being written
		}
	}
	return runner.Survivor{}, false
}

func readShown(path string) (s runner.Survivor, ok bool) {
	f, err := os.Open(path) //nolint:gosec // memory of a process of this user
	if err != nil {
		return s, false
	}
	defer func() { _ = f.Close() }() // it was open to read
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
		return s, true
	}
	return s, smallfile.ReadFrom(f, path, &s) == nil
}

// Lineage returns the lineage that the living supervisors of a data folder carry; empty without supervisors,
// or when they differ.
func Lineage(dir string) string {
	found := ""
	for _, lineage := range supervisorsOf(dir) {
		if found != "" && found != lineage {
			return ""
		}
		found = lineage
	}
	return found
}

// supervisorsOf returns the processes of this user that were started as supervisors for a data folder, with
// the lineage of each.
func supervisorsOf(dir string) map[int]string {
	out := map[int]string{}
	for pid := range proc.All() {
		env, _ := proc.Environ(pid) // one in the middle of an exec has no rank yet
		lineage, home, is := strings.Cut(proc.Variable(env, homeVariable), ":")
		if is && home == dir && sameAccount(pid) {
			out[pid] = lineage
		}
	}
	return out
}

// sameAccount reports whether a process runs under this process's account: any other could pretend to be a
// supervisor.
func sameAccount(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Uid:" {
			return f[1] == strconv.Itoa(os.Geteuid())
		}
	}
	return false
}

// Survivors returns the living supervisors that have a rank. All supervisors of the data folder are continued: one that was stopped
// cannot obey its fence, and one that has no rank any more would never end.
func (r *Runner) Survivors() []runner.Survivor {
	if r.o.Home.Dir == "" {
		return nil
	}
	var out []runner.Survivor
	for pid := range supervisorsOf(r.o.Home.Dir) {
		_ = unix.Kill(pid, unix.SIGCONT) // one that is gone meanwhile needs none
		e, alive := proc.Look(pid)
		s, shows := readCard(pid)
		if alive && !e.Gone() && shows && s.Status.PID == pid && s.Status.Born == e.Born && s.Record.Boot == r.o.Run.Boot {
			out = append(out, s)
		}
	}
	return out
}

// survivor finds the living supervisor of the rank with that nonce.
func (r *Runner) survivor(nonce string) (runner.Status, bool) {
	for _, s := range r.Survivors() {
		if s.Record.Nonce == nonce {
			return s.Status, true
		}
	}
	return runner.Status{}, false
}

// Strays kills what is left of unknown ranks. Only processes older than this Runner count: those that it
// starts itself become known soon.
func (r *Runner) Strays(known func(nonce string) bool) (count int) {
	if r.o.Home.Dir == "" {
		return 0
	}
	prefix := runner.NoncePrefix(r.o.Home.Dir)
	for _, e := range all() {
		env, _ := proc.Environ(e.PID)
		nonce := proc.Variable(env, runner.NonceVariable)
		if e.Born < r.since && strings.HasPrefix(nonce, prefix) && !known(nonce) {
			count++
			_ = unix.Kill(e.PID, unix.SIGKILL) // the caller asks again
		}
	}
	return count
}

// tickNow returns the time since the boot in the clock ticks of start times.
func tickNow() uint64 { return uint64(Now().Boot) / uint64(10*time.Millisecond) }
