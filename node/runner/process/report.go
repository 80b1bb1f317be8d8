package process

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
)

// stageLimit is how long a job may take to begin until it counts as running all the same.
const stageLimit = 10 * time.Second

// starting is a first process that is still the stage. The zero value is none.
type starting struct {
	pipe   *os.File
	report <-chan string    // yields why the host kept the stage from becoming the job; empty: it did not
	limit  <-chan time.Time // when the process counts as the job all the same
}

// follow returns the start of which that is the report, and closes the report when it has ended.
func follow(report *os.File) starting {
	out := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(report, model.MaxText)) // what has come counts
		_ = report.Close()
		out <- string(text)
	}()
	return starting{report, out, time.After(stageLimit)}
}

// over reports whether the stage has become the job or has ended, also if that has not been received yet.
func (s *starting) over() bool {
	over := true // if the pipe is closed here
	if conn, err := s.pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) {
			n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd)}}, 0) // for the end alone
			over = n > 0
		})
	}
	return over
}
