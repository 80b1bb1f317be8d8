package devcluster

import (
	"os/exec"
	"runtime"
	"syscall"
)

// spawner starts processes from one thread that lives as long as it does: the
// kernel ends the children when the thread that started them ends, and so when
// this program is killed.
type spawner struct {
	in   chan func()
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{in: make(chan func()), done: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		defer close(s.done)
		for do := range s.in {
			do()
		}
	}()
	return s
}

// start starts a process in a process group of its own, so that a Ctrl-C at the
// terminal reaches this program alone.
func (s *spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	result := make(chan error, 1)
	s.in <- func() { result <- cmd.Start() }
	return <-result
}

// close lets the thread end; all children must have ended.
func (s *spawner) close() {
	close(s.in)
	<-s.done
}
