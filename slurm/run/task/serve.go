package task

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/run/link"
	"github.com/berth-gpu/berth/slurm/run/process"
)

// stepTasks are the tasks of one step on a node.
type stepTasks struct {
	node    *Node
	conn    *link.Conn
	place   *place
	tasks   []*task
	size    int             // of the buffers for output
	starter process.Starter // starts the tasks
	open    atomic.Int64    // tasks that run
	paths   map[string]bool // files for output that the step has opened, and must not empty once more

	input chan []byte // nil: the end of the input
	ended chan struct{}
}

// Serve starts the tasks of a step, passes on what they read and write, and returns when all have ended and their ends are sent. If the
// connection ends first, the tasks are killed.
func (n *Node) Serve(conn *link.Conn, launch *link.Launch) {
	defer func() { _ = conn.Close() }()
	place, note := n.newPlace(launch)
	ranks := launch.Step.Ranks[launch.Index]
	s := &stepTasks{
		node: n, conn: conn, place: place, tasks: make([]*task, len(ranks)), size: bufferSize(len(ranks)), paths: map[string]bool{},
		input: make(chan []byte, link.Window+1), ended: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i, rank := range ranks {
		s.tasks[i] = &task{rank: rank, cancel: cancel}
	}
	s.open.Store(int64(len(ranks)))
	var all, readers sync.WaitGroup
	for _, t := range s.tasks {
		n.add(t)
	}
	readers.Go(s.obey) // before the start of the tasks, which may take long
	leave := s.enter(ctx, note)
	defer leave()
	for i, t := range s.tasks {
		pumps := s.start(t, i)
		all.Go(func() {
			s.finish(t, pumps)
			n.remove(t)
		})
	}
	readers.Go(s.feed)
	all.Wait()
	close(s.ended)
	for _, t := range s.tasks {
		if t.input != nil {
			_ = t.input.SetWriteDeadline(time.Now()) // fails only if it is closed
		}
	}
	_ = conn.Close()
	readers.Wait()
}

// enter prepares what starts the tasks: the node, or a container there. leave is to be called when the tasks have ended. note is a message
// about the folder of the node, which tasks in a container do not start in.
func (s *stepTasks) enter(ctx context.Context, note string) (leave func()) {
	first, ask := s.tasks[0], &s.place.launch.Ask
	s.starter = s.node.host
	if !ask.Container.Given() {
		if note != "" {
			s.say(first, note)
		}
		return func() {}
	}
	c, err := s.node.containers.Open(ctx, &ask.Container, ask.Dir, func(text string) { s.say(first, "slurmstepd: "+text) })
	if err != nil {
		s.starter = nil
		if ctx.Err() == nil {
			s.say(first, "slurmstepd: error: "+err.Error())
		}
		return func() {}
	}
	s.starter, s.place.dir = c, c.Dir()
	return c.Close
}

// say sends a message as if the task had written it to standard error.
func (s *stepTasks) say(t *task, text string) {
	_ = s.conn.Send(link.KindOutput, link.Output(t.rank, link.Stderr), []byte(text+"\n")) // a lost connection is found by obey
}

// start starts a task and returns what copies its output. A task that cannot start has the exit code of Slurm: the number of the error.
func (s *stepTasks) start(t *task, local int) []*pump {
	if s.starter == nil { // the container could not be opened, and that was said
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.status = 1 << 8; t.early != 0 {
			t.status = uint32(t.early)
		}
		return nil
	}
	files, pumps, err := s.files(t)
	defer func() {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
	}()
	fail := func(code int, format string, args ...any) []*pump {
		s.say(t, fmt.Sprintf("slurmstepd: error: "+format, args...))
		t.status = uint32(code) << 8
		for _, p := range pumps {
			_ = p.from.Close()
		}
		return nil
	}
	if err != nil {
		return fail(1, "%s", err.Error())
	}
	env, err := s.place.environment(local)
	if err != nil {
		return fail(1, "%s", err.Error())
	}
	argv := s.place.launch.Ask.Arguments(t.rank)
	if len(argv) == 0 {
		return fail(int(syscall.ENOENT), "No executable program specified for this task")
	}
	p, err := s.starter.Run(&process.Command{
		Argv: argv, Env: env, Dir: s.place.dir, Files: files, Umask: s.place.launch.Ask.Umask, Limits: s.place.launch.Ask.Limits, Tidy: true,
		Terminal: t.hasTerminal(),
	})
	if err != nil {
		number, ok := err.(syscall.Errno) //nolint:errorlint // of a system call
		if !ok {
			return fail(1, "%s", err.Error())
		}
		code := int(number) & 0xff
		return fail(code, "execve(): %s: %s", s.place.full(argv[0]), Reason(err))
	}
	t.begin(p)
	for _, p := range pumps {
		go p.run()
	}
	return pumps
}

// files opens the standard streams of a task.
func (s *stepTasks) files(t *task) (files [3]*os.File, pumps []*pump, err error) {
	ask := &s.place.launch.Ask
	if ask.Terminal != nil && t.rank == 0 {
		return s.terminal(t, ask.Terminal)
	}
	if files[0], err = s.stdin(t, ask.Stdin); err != nil {
		return files, nil, fmt.Errorf("Could not open stdin file: %s", Reason(err)) //nolint:staticcheck // the words of Slurm
	}
	for i, stream := range []link.Stream{ask.Stdout, ask.Stderr} {
		name := []string{"stdout", "stderr"}[i]
		var p *pump
		if i == 1 && stream.Pattern != "" && stream == ask.Stdout {
			files[2], err = duplicate(files[1])
		} else {
			files[1+i], p, err = s.output(t, stream, link.Stdout+i)
		}
		if err != nil {
			return files, pumps, fmt.Errorf("Could not open %s file: %s", name, Reason(err)) //nolint:staticcheck // the words of Slurm
		}
		if p != nil {
			pumps = append(pumps, p)
		}
	}
	return files, pumps, nil
}

func duplicate(f *os.File) (*os.File, error) {
	fd := -1
	err := onFile(f, func(number int) (err error) {
		fd, err = unix.FcntlInt(uintptr(number), unix.F_DUPFD_CLOEXEC, 3)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// stdin opens the standard input of a task.
func (s *stepTasks) stdin(t *task, stream link.Stream) (*os.File, error) {
	switch {
	case stream.None || stream.One && stream.Task != t.rank:
		return os.Open(os.DevNull)
	case stream.Pattern != "":
		return OpenInput(stream.Pattern, s.place.values(t.rank), s.place.launch.Ask.Dir)
	}
	from, to, err := os.Pipe()
	if err == nil {
		t.input = to
	}
	return from, err
}

// output opens a stream for the output of a task.
func (s *stepTasks) output(t *task, stream link.Stream, which int) (*os.File, *pump, error) {
	switch {
	case stream.Pattern != "":
		path := pathOf(stream.Pattern, s.place.values(t.rank), s.place.launch.Ask.Dir)
		f, err := openPath(path, s.place.launch.Ask.Append || s.paths[path])
		s.paths[path] = true
		return f, nil, err
	case stream.None || stream.One && stream.Task != t.rank:
		f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		return f, nil, err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	prefix := link.Output(t.rank, which)
	return to, newPump(from, s.size, s.place.launch.Ask.Lines && s.place.launch.Step.Tasks() > 1, func(data []byte) bool {
		return s.conn.Send(link.KindOutput, prefix, data) == nil
	}), nil
}

// finish waits for the end of a task, sends what it has written, and then its end.
func (s *stepTasks) finish(t *task, pumps []*pump) {
	status := t.status
	t.mu.Lock()
	running := t.process
	t.mu.Unlock()
	if running != nil {
		<-running.Done
		status = uint32(running.Status)
	}
	if s.open.Add(-1) == 0 { // before its end is known: the next step finds nothing of this one
		s.node.endStrays(s.place.launch.Step.ID)
	}
	for _, p := range pumps {
		p.finish()
	}
	t.hangUp()
	_ = s.conn.Send(link.KindExit, link.Exit(t.rank, status)) // a lost connection is found by obey
}

// feed writes the input to the tasks.
func (s *stepTasks) feed() {
	inputs := make([]*os.File, 0, len(s.tasks))
	for _, t := range s.tasks {
		if t.input != nil {
			inputs = append(inputs, t.input)
		}
	}
	defer func() {
		for _, f := range inputs {
			_ = f.Close() // once more, if the task did not read to the end
		}
	}()
	for {
		select {
		case <-s.ended:
			return
		case data := <-s.input:
			if data == nil {
				s.endInput()
				return
			}
			for _, f := range inputs {
				_, _ = f.Write(data) // fails if the task does not read any more
			}
			_ = s.conn.Send(link.KindTaken) // a lost connection is found by obey
		}
	}
}

// obey carries out what comes from srun, until the step has ended. If the connection is lost, the tasks are killed.
func (s *stepTasks) obey() {
	for {
		f, err := s.conn.Receive()
		if err != nil {
			s.signal(unix.SIGKILL)
			return
		}
		switch f.Kind { //nolint:exhaustive // no others are sent to a node
		case link.KindInput, link.KindInputEnd:
			data := f.Body
			if f.Kind == link.KindInputEnd {
				data = nil
			}
			select {
			case s.input <- data:
			default: // more than the window: not an srun of ours
				_ = s.conn.Close()
			}
		case link.KindSignal:
			if len(f.Body) == 1 {
				s.signal(unix.Signal(f.Body[0]))
			}
		case link.KindEnd:
			go s.end()
		case link.KindResize:
			s.resize(f.Body)
		}
	}
}

// signal sends a signal of srun to all tasks.
func (s *stepTasks) signal(sig unix.Signal) {
	for _, t := range s.tasks {
		if sig == s.node.stop {
			t.stop(sig, bySrun)
		} else {
			t.signal(sig)
		}
	}
}

// killWait is the time between the signal that asks tasks to end and the one that ends them, if the job's grace is longer.
const killWait = 30 * time.Second

// end asks the tasks to end, and ends them after a while.
func (s *stepTasks) end() {
	for _, t := range s.tasks {
		t.signal(unix.SIGCONT)
		t.signal(unix.SIGTERM)
	}
	grace := time.Duration(s.node.file.Grace) * time.Millisecond
	select {
	case <-s.ended:
	case <-time.After(min(grace, killWait)):
		s.signal(unix.SIGKILL)
	}
}
