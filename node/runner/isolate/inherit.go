package isolate

import (
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// KeepFromChildren sets close-on-exec on the files that this process was started with: they may be secrets,
// or locks that should end with this process. Those that it opens itself have that flag from the beginning.
func KeepFromChildren() {
	for _, fd := range received() {
		unix.CloseOnExec(fd)
	}
}

// CloseReceived closes the files that this process was started with, except standard
// input, output and error and those to keep. It must come before the process has other
// goroutines.
func CloseReceived(keep ...int) {
	for _, fd := range received() {
		if !slices.Contains(keep, fd) {
			_ = unix.Close(fd)
		}
	}
}

// received returns the descriptors above standard error that stay open across an exec. At the start of a
// process those are the ones that it was started with.
func received() (out []int) {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1) // what was read before an error counts
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= unix.Stderr {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			out = append(out, fd)
		}
	}
	return out
}

// UnblockSignals unblocks all signals in this thread and in what it starts.
func UnblockSignals() {
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil) // it cannot fail with a mask that is readable
}
