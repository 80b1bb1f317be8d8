package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/node/runner"
)

// maxEvent is the largest atomic write to a pipe, in bytes.
const maxEvent = 4096

// wakeAgent writes an event into the pipe, if an agent reads it. An agent that is away, or does not keep up,
// reads the status later.
func wakeAgent(path string, e runner.Event) {
	line, err := json.Marshal(e)
	if err != nil || len(line) >= maxEvent {
		return
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	_, _ = unix.Write(fd, append(line, '\n'))
	_ = unix.Close(fd)
}

// openEvents opens the pipe for reading. It is also opened for writing, so that reading does not end while no
// supervisor has the pipe open.
func openEvents(path string) (*os.File, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making the pipe %s: %w", path, err)
	}
	return os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0) //nolint:gosec // the node's own run folder
}

// readEvents passes events on until the pipe is closed. Anything that is not an event is skipped: a job of
// the same user could write anything there.
func readEvents(pipe *os.File, pass func(runner.Event)) {
	lines := bufio.NewReaderSize(pipe, 2*maxEvent)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
		var e runner.Event
		if err == nil && json.Unmarshal(line, &e) == nil && !e.Gone { // an end is observed, not received
			pass(e)
		}
	}
}
