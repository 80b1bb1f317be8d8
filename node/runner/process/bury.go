package process

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/cgroup"
)

// Bury kills what is left of a rank whose supervisor has died, and returns why something may be left; nil:
// nothing is left.
func (r *Runner) Bury(rec *runner.Record, s runner.Status) error {
	list := all()
	left, complete := remains(list, rec.Nonce, s)
	var suspects []proc.Stat
	if s.Group == "" {
		left = append(left, supervisors.orphans()...)
		suspects = r.suspects(list, s)
	}
	for _, e := range left {
		_ = unix.Kill(e.PID, unix.SIGKILL)
	}
	switch {
	case !dissolve(s.Group):
		return errors.New("its cgroup is not empty yet: " + s.Group)
	case len(left)+len(suspects) > 0:
		return &leftError{left, suspects}
	case !complete && s.Group == "":
		return errUnsettled
	}
	return nil
}

// dissolve kills the processes of a group, and reports whether there were none.
func dissolve(path string) bool {
	if path == "" {
		return true
	}
	g, err := cgroup.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if g.Populated() {
		_ = g.Kill() // the caller asks again
		return false
	}
	_ = g.Remove() // it is empty; what remains of it holds nothing
	return true
}

// remains returns the living processes of a rank that has no supervisor: those of the job's session, those
// that carry the nonce, and their descendants. The list may be incomplete while a process that is younger
// than the supervisor is in the middle of an exec.
func remains(list []proc.Stat, nonce string, s runner.Status) (out []proc.Stat, complete bool) {
	session := s.Session
	for _, e := range list {
		if e.PID == session && e.Born != s.Begun {
			session = 0 // the number belongs to another session now
		}
	}
	roots := map[int]bool{}
	complete = true
	for _, e := range list {
		is, known := marked(e.PID, nonce)
		if is || session != 0 && e.Session == session {
			roots[e.PID] = true
			out = append(out, e)
		}
		complete = complete && (known || e.Born < s.Born)
	}
	return append(out, below(list, roots)...), complete
}
