package contain

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/image/root"
	"github.com/berth-gpu/berth/slurm/run/process"
)

// inside is the process inside of a container.
type inside struct {
	conn conn
	host *process.Host

	mu      sync.Mutex
	running map[uint64]*process.Process
}

// Serve is the whole of the process inside of a container: it takes the files of the image as its own and starts programs, until the other
// side closes the connection. It returns the exit code.
func Serve() int {
	unix.CloseOnExec(socketFile)
	unix.CloseOnExec(lockFile)
	c, err := newConn(os.NewFile(socketFile, "container"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "berth: this is a part of srun, not a command: ", err)
		return 1
	}
	in := &inside{conn: c, running: map[uint64]*process.Process{}}
	err = in.enter()
	if err == nil {
		in.host = process.NewHost()
		err = in.host.Prepare(root.Drop)
	}
	if err != nil {
		_ = c.send(message{Verb: failed, Text: err.Error()}, nil) // the other side may have ended
		return 1
	}
	if c.send(message{Verb: ready}, nil) != nil {
		return 1
	}
	for {
		m, files, err := c.receive()
		if err != nil {
			return 0 // the kernel ends what runs
		}
		switch m.Verb { //nolint:exhaustive // no others come from outside
		case run:
			in.run(m.ID, files)
		case signals:
			in.mu.Lock()
			p := in.running[m.ID]
			in.mu.Unlock()
			if p != nil {
				p.Signal(unix.Signal(m.Number), m.Group)
			}
		}
		closeAll(files)
	}
}

// enter takes the files of the image.
func (in *inside) enter() error {
	m, files, err := in.conn.receive()
	if err != nil {
		return err
	}
	defer closeAll(files)
	p := &plan{}
	if m.Verb != enter {
		return fmt.Errorf("the first message is %q", m.Verb)
	}
	if err := read(files, p); err != nil {
		return err
	}
	return p.Enter()
}

// run starts a program, and reports its start and its end.
func (in *inside) run(id uint64, files []*os.File) {
	var a program
	err := read(files, &a)
	if err == nil && len(files) != maxFiles {
		err = fmt.Errorf("%d files came with a program", len(files))
	}
	if err == nil {
		err = folder(a.Dir)
	}
	var p *process.Process
	if err == nil {
		p, err = in.host.Run(&process.Command{
			Argv: a.Argv, Env: a.Env, Dir: a.Dir, Files: [3]*os.File(files[1:]), Umask: a.Umask, Limits: a.Limits, Tidy: a.Tidy,
			Terminal: a.Terminal,
		})
	}
	if err != nil {
		m := message{Verb: failed, ID: id, Text: err.Error()}
		if number, is := errors.AsType[unix.Errno](err); is {
			m.Number = int(number)
		}
		_ = in.conn.send(m, nil) // a lost connection is found by receive
		return
	}
	in.mu.Lock()
	in.running[id] = p
	in.mu.Unlock()
	_ = in.conn.send(message{Verb: started, ID: id, Number: p.ID}, nil)
	go func() {
		<-p.Done
		in.mu.Lock()
		delete(in.running, id)
		in.mu.Unlock()
		_ = in.conn.send(message{Verb: ended, ID: id, Number: int(p.Status)}, nil)
	}()
}

// folder returns why a program cannot start in a folder.
func folder(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = unix.ENOTDIR
	}
	if err != nil {
		return fmt.Errorf("there is no folder %s in the image: %v", dir, err) //nolint:errorlint // its number would be taken for that of the program
	}
	return nil
}
