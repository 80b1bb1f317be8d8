package contain

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/image/root"
)

// Word is the second argument of berth slurm-batch for the process inside of a container.
const Word = "container"

// Numbers of the files of that process.
const (
	socketFile = 3 // its end of the connection
	lockFile   = 4 // keeps the image
)

// verb is what a message is for.
type verb string

// The verbs of the outer side: enter, run and signal; and of the inner side.
const (
	enter   verb = "enter"   // the first message; Data is a root.Plan
	run     verb = "run"     // Data is a program, and three files come with the message
	signals verb = "signal"  // Number is the signal
	ready   verb = "ready"   // the answer to enter
	started verb = "started" // the answer to run; Number is the process
	failed  verb = "failed"  // the answer to enter or run; Number is an error number, or 0 with a text
	ended   verb = "ended"   // Number is the status of the process, as wait(2) has it
)

// message is one packet of the connection. Data of any size comes as a file in memory.
type message struct {
	Verb   verb   `json:"verb"`
	ID     uint64 `json:"id,omitempty"` // of a process
	Number int    `json:"number,omitempty"`
	Group  bool   `json:"group,omitempty"` // of a signal
	Text   string `json:"text,omitempty"`
}

// program is what a run starts.
type program struct {
	Argv     []string
	Env      []string
	Dir      string
	Umask    int
	Limits   string
	Tidy     bool
	Terminal bool
}

// plan is what enter carries out.
type plan struct{ root.Plan }

// maxText bounds the text of a message, in bytes.
const maxText = 2048

// conn is one end of the connection.
type conn struct{ *net.UnixConn }

// newPair returns both ends of a connection, the second as a file for another process.
func newPair() (conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return conn{}, nil, err
	}
	own, other := os.NewFile(uintptr(fds[0]), "container"), os.NewFile(uintptr(fds[1]), "container")
	c, err := newConn(own)
	if err != nil {
		_ = other.Close()
	}
	return c, other, err
}

// newConn returns a connection, and closes the file.
func newConn(f *os.File) (conn, error) {
	c, err := net.FileConn(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return conn{}, err
	}
	u, is := c.(*net.UnixConn)
	if !is {
		return conn{}, errors.Join(fmt.Errorf("%s is no socket of this host", f.Name()), c.Close())
	}
	return conn{u}, nil
}

// send sends a message, with data and files.
func (c conn) send(m message, data any, files ...*os.File) error {
	if len(m.Text) > maxText {
		m.Text = m.Text[:maxText]
	}
	head, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var fds []int
	if data != nil {
		f, err := inMemory(data)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		files = slices.Insert(slices.Clone(files), 0, f)
	}
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err = c.WriteMsgUnix(head, rights, nil)
	return err
}

// inMemory returns a file in memory with a value as JSON.
func inMemory(data any) (*os.File, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("message", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "message")
	if _, err := f.WriteAt(text, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// maxFiles bounds the files that come with a message: the data, and the three of a program.
const maxFiles = 4

// receive receives a message with its files.
func (c conn) receive() (m message, files []*os.File, err error) {
	head, rights := make([]byte, 2*maxText+1024), make([]byte, unix.CmsgSpace(4*maxFiles))
	n, on, _, _, err := c.ReadMsgUnix(head, rights)
	if err != nil {
		return m, nil, err
	}
	if n == 0 {
		return m, nil, net.ErrClosed
	}
	list, err := unix.ParseSocketControlMessage(rights[:on])
	for i := range list {
		fds, rightsErr := unix.ParseUnixRights(&list[i])
		err = errors.Join(err, rightsErr)
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "file of a message"))
		}
	}
	err = errors.Join(err, json.Unmarshal(head[:n], &m))
	if err != nil {
		closeAll(files)
	}
	return m, files, err
}

// read reads the data of a message, its first file.
func read(files []*os.File, data any) error {
	if len(files) == 0 {
		return errors.New("the message has no data")
	}
	return json.NewDecoder(files[0]).Decode(data)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was written
	}
}
