package contain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/image/root"
	"github.com/berth-gpu/berth/slurm/container"
	"github.com/berth-gpu/berth/slurm/run/process"
)

// Container runs programs of one step with the files of an image. It is a [process.Starter].
type Container struct {
	*instance

	own *container.Options // of the step: the folder, variables and entry point of its programs
}

// instance is a container that runs. Steps with the same name share it.
type instance struct {
	node    *Node
	name    string // that the user gave; empty: none
	state   string // folder for what changes
	held    []*os.File
	image   *image
	options *container.Options
	driver  bool // the libraries of the driver are mounted
	users   int  // steps that use it, under the lock of node

	conn   conn
	inside *process.Process

	mu    sync.Mutex
	last  uint64
	calls map[uint64]*call
	lost  bool
}

// call is a program that was asked for.
type call struct {
	answer chan message
	end    func(unix.WaitStatus)
}

// start starts the process inside and waits until it has the files of the image.
func (c *instance) start(ctx context.Context, p *root.Plan, self string) error {
	own, other, err := newPair()
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return errors.Join(err, own.Close())
	}
	defer func() { _ = null.Close() }()
	lock := null
	if len(c.held) > 0 {
		lock = c.held[0]
	}
	c.conn, c.calls = own, map[uint64]*call{}
	c.inside, err = c.node.host.Run(&process.Command{
		Argv: []string{self, "slurm-batch", Word}, Env: []string{"GOMAXPROCS=2"}, Dir: "/", Files: [3]*os.File{null, null, os.Stderr}, Umask: -1,
		More: []*os.File{other, lock}, Spaces: root.Namespaces(c.options.Root),
	})
	if err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EUSERS) {
			err = fmt.Errorf("this node lets users make no namespaces, which images need (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns): %w", err)
		}
		return errors.Join(err, own.Close())
	}
	stop := context.AfterFunc(ctx, c.kill)
	defer stop()
	if err = own.send(message{Verb: enter}, plan{*p}); err == nil {
		var m message
		if m, _, err = own.receive(); err == nil && m.Verb != ready {
			err = errors.New(m.Text)
		}
	}
	_ = other.Close() // from now on the connection ends with the process
	if err != nil {
		c.stop()
		return cmp.Or(ctx.Err(), err)
	}
	go c.listen()
	return nil
}

// kill ends the process inside, and with it all programs.
func (c *instance) kill() { c.inside.Signal(unix.SIGKILL, false) }

// stop ends the process inside and waits for its end.
func (c *instance) stop() {
	_ = c.conn.Close() // nothing more is sent
	c.kill()
	<-c.inside.Done
}

// listen receives what the process inside reports. When that process has ended, all programs have.
func (c *instance) listen() {
	for {
		m, files, err := c.conn.receive()
		closeAll(files)
		if err != nil {
			break
		}
		c.mu.Lock()
		call := c.calls[m.ID]
		if m.Verb == ended || m.Verb == failed {
			delete(c.calls, m.ID)
		}
		c.mu.Unlock()
		switch {
		case call == nil:
		case m.Verb == ended:
			call.end(unix.WaitStatus(m.Number))
		default:
			call.answer <- m
		}
	}
	<-c.inside.Done
	c.mu.Lock()
	c.lost = true
	calls := c.calls
	c.calls = map[uint64]*call{}
	c.mu.Unlock()
	for _, call := range calls { // order-free: each by itself
		select {
		case call.answer <- message{Verb: failed, Text: "the container has ended"}:
		default:
		}
		call.end(unix.WaitStatus(unix.SIGKILL))
	}
}

// Run starts a program in the container, in the folder of [Container.Dir]. An error number is that of the start of the program.
func (c *Container) Run(cmd *process.Command) (*process.Process, error) {
	argv := cmd.Argv
	if c.own.Entrypoint {
		argv = append(append([]string{}, c.image.Entrypoint...), argv...)
	}
	call := &call{answer: make(chan message, 1)}
	c.mu.Lock()
	c.last++
	id := c.last
	p, end := process.Elsewhere(0, func(sig unix.Signal, group bool) {
		_ = c.conn.send(message{Verb: signals, ID: id, Number: int(sig), Group: group}, nil) // a container that has ended needs none
	})
	call.end = end
	lost := c.lost
	if !lost {
		c.calls[id] = call
	}
	c.mu.Unlock()
	if lost {
		return nil, errors.New("the container has ended")
	}
	a := program{
		Argv: argv, Env: c.environment(cmd.Env), Dir: c.Dir(), Umask: cmd.Umask, Limits: cmd.Limits, Tidy: cmd.Tidy,
		Terminal: cmd.Terminal,
	}
	if err := c.conn.send(message{Verb: run, ID: id}, a, cmd.Files[:]...); err != nil {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		return nil, err
	}
	m := <-call.answer
	switch {
	case m.Verb == started:
		p.ID = m.Number
		return p, nil
	case m.Number != 0:
		return nil, unix.Errno(m.Number)
	}
	return nil, errors.New(m.Text)
}

// environment returns the variables of a program that has these outside.
func (c *Container) environment(job []string) []string {
	o := *c.own
	o.Root = c.options.Root
	return environment(job, c.image.Env, &o, filepath.Join(c.node.file.Folder, binFolder), c.driver)
}

// binFolder is the folder with Slurm's programs, in the one of the job's file.
const binFolder = "bin"

// Dir returns the folder that programs start in.
func (c *Container) Dir() string { return cmp.Or(c.own.Workdir, c.image.Workdir, "/") }
