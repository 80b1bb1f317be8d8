package task

import (
	"bytes"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// drainWait is how long output may still come after the end of a process, from others that have its pipe open.
const drainWait = 500 * time.Millisecond

// mostLeft bounds what is read after drainWait; a pipe holds less.
const mostLeft = 1 << 20

// longestPart is the longest part of a line that waits for its end.
const longestPart = 4 << 10

// bufferSize returns the size of the buffers for output, if so many tasks have two of them.
func bufferSize(tasks int) int {
	const few, large, small = 16, 32 << 10, 8 << 10
	if tasks <= few {
		return large
	}
	return small
}

// pump copies what comes out of a pipe.
type pump struct {
	from  *os.File
	size  int
	lines bool // only whole lines are passed on
	put   func(data []byte) bool
	done  chan struct{}
}

// newPump returns a pump. put takes each piece, and reports whether more is of use; lines makes a piece end with a line, unless that is
// very long.
func newPump(from *os.File, size int, lines bool, put func([]byte) bool) *pump {
	return &pump{from: from, size: size, lines: lines, put: put, done: make(chan struct{})}
}

// Pump copies a pipe into put, and returns what has to be called after the end of the process that writes to the pipe: it returns when
// all is copied that the process has written, also if others have the pipe open.
func Pump(from *os.File, put func([]byte) bool) (finish func()) {
	p := newPump(from, bufferSize(1), false, put)
	go p.run()
	return p.finish
}

// run copies until the end of the pipe, or until finish.
func (p *pump) run() {
	defer close(p.done)
	buffer, held := make([]byte, p.size), 0
	useful := true
	pass := func(n int) {
		if useful && n > 0 {
			useful = p.put(buffer[:n])
		}
	}
	step := func(n int) {
		held += n
		whole := held
		if p.lines && held < len(buffer) {
			whole = bytes.LastIndexAny(buffer[:held], "\n\r") + 1
			if held-whole > longestPart {
				whole = held
			}
		}
		pass(whole)
		held = copy(buffer, buffer[whole:held])
	}
	var err error
	for err == nil {
		var n int
		n, err = p.from.Read(buffer[held:])
		step(n)
	}
	if os.IsTimeout(err) {
		p.rest(func() []byte { return buffer[held:] }, step)
	}
	pass(held)
	_ = p.from.Close()
}

// rest reads what is in the pipe now.
func (p *pump) rest(buffer func() []byte, step func(int)) {
	raw, err := p.from.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // fails only if the file is closed
		for total := 0; total < mostLeft; {
			n, err := unix.Read(int(fd), buffer())
			if n <= 0 || err != nil {
				return
			}
			total += n
			step(n)
		}
	})
}

// finish waits for the end of the pipe, for a short time, and then takes what is there.
func (p *pump) finish() {
	_ = p.from.SetReadDeadline(time.Now().Add(drainWait)) // fails only if the file is closed, and then run has ended
	<-p.done
}
