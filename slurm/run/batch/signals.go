package batch

import (
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/process"
)

// notify lets all signals come in that are for the job.
func (r *rank) notify() {
	signal.Notify(r.signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGALRM,
		unix.SIGTSTP,
		unix.SIGXCPU, unix.SIGPWR, unix.SIGIO, unix.SIGPIPE) // with SIGPIPE, a log that is gone is an error of a write, and not the end
	signal.Notify(r.signals, r.stop, unix.Signal(jobfile.WarnNumber))
}

// relay passes a signal on, and reports whether it was the stop signal. script is nil on nodes without one.
//
// The stop signal is for all: the tasks of steps on this node, and the script with its group. It comes to each node by itself. The warning
// ahead of the time limit, which comes as [jobfile.WarnNumber], is for the tasks, or for the script's process alone. Others are for the
// script and its group, in which each srun passes them on to its tasks; on other nodes they have no effect.
func (r *rank) relay(s unix.Signal, script *process.Process) (stop bool) {
	switch {
	case s == jobfile.WarnNumber:
		r.warn(script)
	case s == r.stop:
		r.node.Stop()
		if script != nil {
			script.Signal(s, true)
		}
		return true
	case script == nil || s == unix.SIGPIPE:
	default:
		script.Signal(s, true)
	}
	return false
}

// warn sends the warning to the tasks, or to the script's process alone.
func (r *rank) warn(script *process.Process) {
	switch {
	case r.warning == 0:
	case r.file.Request.SignalSteps:
		r.node.Signal(r.warning)
	case script != nil:
		script.Signal(r.warning, false)
	}
}

// die ends this process as another one has ended: by the same signal, or with the same exit code.
func die(status unix.WaitStatus) int {
	if !status.Signaled() {
		return status.ExitStatus()
	}
	number := int(status.Signal())
	// A program that is executed has the usual effect of all signals, which this one has not. No second core file is written.
	_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "ulimit -c 0; kill -" + strconv.Itoa(number) + " $$"}, nil) //nolint:gosec // a number
	return 128 + number
}
