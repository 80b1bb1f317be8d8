package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// handle is a process that need not be a child: it cannot be mistaken for one that has its id later.
type handle struct{ file *os.File }

func openHandle(pid int) (*handle, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &handle{os.NewFile(uintptr(fd), "pidfd")}, nil
}

// wait returns true once the process has ended, and false if the handle was closed before.
func (h *handle) wait() bool {
	conn, err := h.file.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
	return err == nil
}

func (h *handle) signal(s unix.Signal) error {
	conn, err := h.file.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = conn.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), s, nil, 0) })
	return errors.Join(err, sent)
}

func (h *handle) close() { _ = h.file.Close() }
