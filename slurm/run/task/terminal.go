package task

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/run/link"
)

// endOfInput is what a terminal's user types to end the input: Ctrl-D.
const endOfInput = 4

// terminal gives a task a terminal as its three streams. Its controlling side stays open until the task has ended: closing that side hangs
// up.
func (s *stepTasks) terminal(t *task, size *link.Screen) (files [3]*os.File, pumps []*pump, err error) {
	control, own, err := pty.Open()
	if err != nil {
		return files, nil, err
	}
	files[0] = own
	t.mu.Lock()
	t.control = control
	t.mu.Unlock()
	// so that its copies have deadlines
	err = errors.Join(onFile(control, func(fd int) error { return unix.SetNonblock(fd, true) }), t.resize(size))
	for i := 1; i < len(files) && err == nil; i++ {
		files[i], err = duplicate(own)
	}
	if err == nil {
		t.input, err = duplicate(control)
	}
	if err != nil {
		return files, nil, err
	}
	from, err := duplicate(control)
	if err != nil {
		return files, nil, err
	}
	return files, []*pump{newPump(from, s.size, false, func(data []byte) bool {
		return s.conn.Send(link.KindOutput, link.Output(t.rank, link.Stdout), data) == nil
	})}, nil
}

// onFile calls use with the number of an open file.
func onFile(f *os.File, use func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Control(func(fd uintptr) { failure = use(int(fd)) })
	return errors.Join(err, failure)
}

// resize sets the size of a task's terminal, if the task has one.
func (t *task) resize(size *link.Screen) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.control == nil {
		return nil
	}
	return onFile(t.control, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Columns})
	})
}

// hangUp closes the terminal of a task that has ended: programs that have it open get SIGHUP.
func (t *task) hangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.control != nil {
		_ = t.control.Close() // nothing was written to it
		t.control = nil
	}
}

// hasTerminal reports whether a task has a terminal.
func (t *task) hasTerminal() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.control != nil
}

// resize passes on the size of srun's terminal.
func (s *stepTasks) resize(body []byte) {
	var size link.Screen
	if json.Unmarshal(body, &size) != nil {
		return
	}
	for _, t := range s.tasks {
		_ = t.resize(&size) // the task may have ended
	}
}

// endInput ends the input of tasks that have a terminal.
func (s *stepTasks) endInput() {
	for _, t := range s.tasks {
		if t.hasTerminal() && t.input != nil {
			_, _ = t.input.Write([]byte{endOfInput}) // fails if the task has ended
		}
	}
}
