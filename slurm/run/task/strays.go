package task

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/slurm/jobfile"
)

// searchStrays is the longest time for which the end of a step waits for processes that begin another program: the kernel shows no
// environment of theirs meanwhile.
const searchStrays = 10 * time.Second

// endStrays kills what tasks of a step have left behind in other process groups, such as the workers of a launcher that was
// killed: all processes of this account that have the variables of this rank and of the step. Nothing else has both. The search is
// repeated until it finds none: a stray may start others meanwhile, or just be starting another program.
func (n *Node) endStrays(step int) {
	rank := os.Getenv(jobfile.Variable)
	if rank == "" {
		return
	}
	killMarked(jobfile.Variable+"="+rank, "SLURM_STEP_ID="+strconv.Itoa(step))
}

// killMarked kills all processes of this account that have some variables, except for this one.
func killMarked(variables ...string) {
	s := &straySearch{killed: map[proc.ID]bool{}}
	for _, v := range variables {
		s.marks = append(s.marks, []byte("\x00"+v+"\x00"))
	}
	for limit := time.Now().Add(searchStrays); !s.pass() && time.Now().Before(limit); {
		time.Sleep(time.Millisecond)
	}
}

// straySearch looks for processes that have variables, and kills them.
type straySearch struct {
	marks  [][]byte // the variables, as they stand in an environment: between zero bytes
	killed map[proc.ID]bool
}

// pass looks at all processes once, and reports whether none was left.
func (s *straySearch) pass() (none bool) {
	none = true
	for pid := range proc.All() {
		if pid != os.Getpid() && ownProcess(pid) {
			none = s.end(pid) && none
		}
	}
	return none
}

// end kills a process that has the marks, and reports whether it was none, or one that was killed before.
func (s *straySearch) end(pid int) (none bool) {
	fd, err := unix.PidfdOpen(pid, 0) // first, so that the number belongs to the process whose variables are read
	if err != nil {
		return true
	}
	defer func() { _ = unix.Close(fd) }()
	env, known := proc.Environ(pid)
	if known && !s.marked(env) {
		return true
	}
	stat, ok := proc.Look(pid)
	switch {
	case !ok || stat.Gone() || s.killed[stat.ID]:
		return true
	case !known:
		return false
	}
	s.killed[stat.ID] = true
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may have ended meanwhile
	return false
}

// marked reports whether an environment has all marks.
func (s *straySearch) marked(env []byte) bool {
	env = append(append([]byte{0}, env...), 0)
	for _, mark := range s.marks {
		if !bytes.Contains(env, mark) {
			return false
		}
	}
	return true
}

// ownProcess reports whether a process runs as the account of this one.
func ownProcess(pid int) bool {
	var stat unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid), &stat) == nil && int(stat.Uid) == os.Getuid()
}
