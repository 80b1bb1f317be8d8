package process

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
)

// reaped is the end of a child.
type reaped struct {
	pid  int
	exit model.Exit
}

// reap collects children as they end, including adopted ones, until none is left; then it closes the channel.
// While the job's first process is not reaped there is at least one.
func reap(ends chan<- reaped) {
	defer close(ends)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil: // ECHILD: no child is left, and none can come
			return
		}
		ends <- reaped{pid, exitOf(status)}
	}
}

func exitOf(s unix.WaitStatus) model.Exit {
	if s.Signaled() {
		return model.Exit{Signal: uint8(s.Signal())}
	}
	return model.Exit{Code: int32(s.ExitStatus())}
}

// lives reports whether a child has not ended, whether or not it has been reaped.
func lives(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == 0
}
