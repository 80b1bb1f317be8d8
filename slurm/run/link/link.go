// Package link connects the programs inside a job in Slurm's language: srun with the server of steps (a socket of the file system), and
// the servers of the job's other nodes with that of the first one (TCP, by the secret of the attempt).
package link

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/berth-gpu/berth/files/frame"
)

// Kind says what a frame is.
type Kind byte

// The kinds of frames, with the type of their body.
const (
	KindHello     Kind = iota + 1 // Hello: the first frame of a connection between nodes
	KindAsk                       // Ask: srun asks for a step
	KindNote                      // text for srun's standard error
	KindRefused                   // text: there is no step
	KindCreated                   // Created: the step has its place
	KindReady                     // empty: srun has opened its files
	KindLaunch                    // Launch: a node is to start its tasks
	KindDial                      // a number of eight bytes: the node is to open a connection for a step; the node returns it if it cannot
	KindOutput                    // rank of a task, stream, bytes
	KindInput                     // bytes for the standard input of tasks
	KindInputEnd                  // empty: the end of the input
	KindTaken                     // empty: a frame of input has been written to the tasks
	KindSignal                    // one byte: a signal for the tasks
	KindEnd                       // empty: the tasks are to end, with a signal first
	KindExit                      // rank of a task, status
	KindLost                      // Lost: a node cannot be reached any more
	KindDescribe                  // empty: an srun outside of the job asks for the job
	KindJob                       // jobfile.File without its secret: the job
	KindRelease                   // empty: salloc gives the allocation back
	KindResize                    // Screen: the terminal of srun has another size
	KindSignalJob                 // Signal: a signal for processes of the job; the answer is KindTaken or KindRefused
	kindCount
)

// The bounds of a frame's body, in bytes.
const (
	MaxData = 64 << 10 // of input and output
	maxWord = 12 << 20 // of frames with an environment and a command line, of which the kernel takes 6 MiB at most, as base64
	maxText = 64 << 10 // of all others
)

// Window is how many frames of input may be on the way: a task that does not read makes srun wait.
const Window = 8

// Frame is one message.
type Frame struct {
	Kind Kind
	Body []byte
}

// limit returns the largest body of a kind, or -1 if there is no such kind.
func limit(kind byte) int {
	switch k := Kind(kind); {
	case k == 0 || k >= kindCount:
		return -1
	case k == KindAsk, k == KindLaunch, k == KindCreated, k == KindJob:
		return maxWord
	case k == KindOutput, k == KindInput:
		return MaxData + taskHeader
	}
	return maxText
}

// Conn carries frames. Several goroutines may send; one receives.
type Conn struct {
	raw net.Conn
	in  *bufio.Reader

	mu  sync.Mutex
	out []byte
}

// New returns a connection over a stream.
func New(raw net.Conn) *Conn { return &Conn{raw: raw, in: bufio.NewReaderSize(raw, 16<<10)} }

// Send sends a frame, whose body may come in parts. It waits as long as the other side does not read.
func (c *Conn) Send(kind Kind, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > limit(byte(kind)) {
		return fmt.Errorf("%d bytes are too many for a frame of kind %d: it may have %d", size, kind, limit(byte(kind)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = frame.Append(c.out[:0], byte(kind), parts...)
	_, err := c.raw.Write(c.out)
	if cap(c.out) > 4*MaxData {
		c.out = nil // of a large frame, once
	}
	return err
}

// SendValue sends a frame with a value as JSON.
func (c *Conn) SendValue(kind Kind, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.Send(kind, body)
}

// Receive returns the next frame.
func (c *Conn) Receive() (Frame, error) {
	kind, body, err := frame.Read(c.in, limit)
	return Frame{Kind(kind), body}, err
}

// Expect receives a frame of a kind, and reads its value.
func (c *Conn) Expect(kind Kind, value any) error {
	f, err := c.Receive()
	if err != nil {
		return err
	}
	if f.Kind != kind {
		return fmt.Errorf("a frame of kind %d came in place of kind %d", f.Kind, kind)
	}
	return json.Unmarshal(f.Body, value)
}

// Close ends the connection; waiting calls of Send and Receive return an error.
func (c *Conn) Close() error { return c.raw.Close() }

// Relay passes all bytes between two connections on until both have ended, and closes them.
func Relay(a, b *Conn) {
	var both sync.WaitGroup
	both.Go(func() { pass(a, b) })
	both.Go(func() { pass(b, a) })
	both.Wait()
}

// pass copies one direction. The end of one side is the end of both: each frame before it has been passed on.
func pass(from, to *Conn) {
	_, _ = io.Copy(to.raw, from.in)
	_ = to.raw.Close()
}
