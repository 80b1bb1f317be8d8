package step

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/inherit"
	"github.com/berth-gpu/berth/slurm/run/link"
	"github.com/berth-gpu/berth/slurm/srun"
)

// client is one srun.
type client struct {
	file    *jobfile.File
	inside  bool // this process belongs to the job
	options srun.Options
	conn    *link.Conn
	streams streams
	created link.Created
	report  *report
	window  chan struct{} // frames of input that are on the way
	ready   chan struct{} // closed when the files are open

	events chan link.Frame // all frames but output and input; closed when the connection is lost
	intr   interrupts

	terminal terminal
	programs programs
}

// say writes a message to standard error.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "srun: "+format+"\n", args...) }

// failed is the exit code of an srun without tasks.
const failed = 1

// unknown is the exit code for a command line with an option that does not exist, or without its value.
const unknown = 255

// Dial connects to the server of steps of a job that this process does not belong to.
type Dial func(job form.JobRef) (*link.Conn, error)

// Srun runs a program as a step of a job, and returns the exit code: the greatest one of its tasks, and 128 and the signal for a task that
// a signal has ended. The job is the one that this process belongs to, the one of --jobid, or that of the environment. args are the words
// after the program's name.
func Srun(args []string, dial Dial) int {
	result, err := srun.Parse(args, os.LookupEnv)
	if err != nil {
		say("error: %v", err)
		fmt.Fprintln(os.Stderr, `Try "srun --help" for more information`)
		if srun.Misspelled(err) {
			return unknown
		}
		return failed
	}
	switch result.Options.Help {
	case "help":
		fmt.Fprint(os.Stdout, srun.Help())
		return 0
	case "usage":
		fmt.Fprint(os.Stdout, srun.Usage())
		return 0
	case "version":
		fmt.Fprintln(os.Stdout, "slurm 22.05 (Berth)")
		return 0
	}
	code, err := begin(result, dial)
	if err != nil {
		say("error: %v", err)
		return failed
	}
	return code
}

// begin connects to the server of steps and runs the step.
func begin(result srun.Result, dial Dial) (int, error) {
	c := &client{
		options: result.Options, window: make(chan struct{}, link.Window), ready: make(chan struct{}),
		events: make(chan link.Frame, 16),
	}
	if err := c.connect(dial); err != nil {
		return 0, err
	}
	defer func() { _ = c.conn.Close() }()
	ask, err := c.prepare(result.Command)
	if err != nil {
		return 0, err
	}
	if !c.options.Quiet {
		for _, note := range result.Notes {
			say("%s", note)
		}
	}
	signals := make(chan os.Signal, 16)
	c.intr.notify(signals)
	defer signal.Stop(signals)
	if err := c.conn.SendValue(link.KindAsk, ask); err != nil {
		return 0, fmt.Errorf("the step could not be asked for: %w", err)
	}
	code, err := c.await(signals)
	if err != nil || code != 0 {
		return code, err
	}
	return c.run(signals), nil
}

// connect connects to the server of steps of the job.
func (c *client) connect(dial Dial) error {
	path := os.Getenv(jobfile.Variable)
	if path != "" {
		file, err := jobfile.Read(path)
		if err != nil {
			return fmt.Errorf("the job of this process is not known: %w", err)
		}
		if c.file = file; c.sameJob() {
			c.inside = true
			if c.conn, err = link.DialLocal(file.Folder); err != nil {
				return fmt.Errorf("the job's server of steps does not answer; it ends with the script: %w", err)
			}
			return nil
		}
	}
	err := c.refer()
	if err == nil {
		c.conn, err = dial(c.options.Job)
	}
	if err != nil {
		return err
	}
	c.file = &jobfile.File{}
	if err = c.conn.Send(link.KindDescribe); err == nil {
		err = c.conn.Expect(link.KindJob, c.file)
	}
	if err == nil && len(c.file.Job.Nodes) == 0 {
		err = errors.New("it names no node")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the server of steps of job %s does not describe the job: %w", c.options.Job, err), c.conn.Close())
	}
	return nil
}

// refer sets the job of an srun outside of the job: that of --jobid, or that of the environment.
func (c *client) refer() (err error) {
	if !c.options.JobGiven {
		if c.options.Job, err = form.ParseJob(os.Getenv("SLURM_JOB_ID")); err != nil {
			return fmt.Errorf("the variable SLURM_JOB_ID: %w", err)
		}
	}
	return nil
}

// sameJob reports whether the step is for the job that this process belongs to.
func (c *client) sameJob() bool {
	own, ref := &c.file.Job, c.options.Job
	return !c.options.JobGiven || ref.Tasks == nil && !ref.All && ref.Job == own.ID ||
		own.Array.Count > 0 && ref.Job == own.Array.Job && slices.Equal(ref.Tasks, []int{own.Array.Task})
}

// prepare returns the request for the step.
func (c *client) prepare(command []string) (*link.Ask, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("the present folder is gone: %w", err)
	}
	c.streams = newStreams(&c.options.Files, dir)
	o := &c.options
	if o.Multi {
		if err := c.programs.read(command[0]); err != nil {
			return nil, err
		}
	}
	if o.Terminal && !term.IsTerminal(int(os.Stdin.Fd())) {
		say("error: Not using a pseudo-terminal, disregarding --pty option")
		o.Terminal = false
	}
	ask := &link.Ask{
		Size: o.Size, Command: command, Env: srun.Environment(os.Environ(), o.Export), Dir: dir, Name: o.Name, Parent: -1,
		Stdout: c.streams.stdout.node, Stderr: c.streams.stderr.node, Stdin: c.streams.stdin.node,
		Append: o.Files.Append, Lines: !o.Files.Unbuffered, Immediate: int64(o.Immediate), Container: o.Container,
	}
	ask.Programs = c.programs.list
	ask.Umask = inherit.Umask()
	if ask.Limits, err = c.limits(); err != nil {
		return nil, err
	}
	ask.Env = append(ask.Env, "SLURM_UMASK="+inherit.Octal(ask.Umask), "SRUN_DEBUG="+strconv.Itoa(o.LogLevel()))
	if o.Chdir != "" {
		ask.Dir = absolute(o.Chdir, dir)
	}
	if o.Terminal {
		first := link.Stream{One: true}
		ask.Terminal, ask.Stdin, ask.Stdout, ask.Stderr = c.terminal.screen(), first, first, first
	}
	if step, err := strconv.Atoi(os.Getenv("SLURM_STEP_ID")); err == nil && step >= 0 && c.inside {
		ask.Parent = step
	}
	return ask, nil
}

// limits returns the soft limits of the tasks: of an srun inside of the job all that it has, from another machine those that the user has
// changed there.
func (c *client) limits() (string, error) {
	which := inherit.Which{All: c.inside}
	if given := c.options.Propagate; given != nil {
		var none bool
		var err error
		if which, none, err = inherit.ParseWhich(*given); none || err != nil {
			return "", err
		}
	}
	return inherit.Limits(which), nil
}

// await waits until the step has its place, and opens the files. A code other than 0 is that of an srun whose step will not run.
func (c *client) await(signals <-chan os.Signal) (int, error) {
	go c.receive()
	waited := false
	for {
		select {
		case s := <-signals:
			if s == unix.SIGCONT {
				continue
			}
			say("Cancelled pending step for job %d", c.file.Job.ID)
			return failed, nil
		case f, alive := <-c.events:
			switch {
			case !alive:
				return 0, errors.New("the connection to the job's server of steps is lost")
			case f.Kind == link.KindNote:
				waited = true
				c.inform("%s", f.Body)
			case f.Kind == link.KindRefused:
				return 0, errors.New(string(f.Body))
			case f.Kind == link.KindCreated:
				if waited {
					c.inform("Step created for StepId=%d.%d", c.file.Job.ID, c.created.Step)
				}
				for _, note := range c.created.Notes {
					c.inform("%s", note)
				}
				if err := c.programs.check(c.created.Tasks); err != nil {
					return 0, err
				}
				if err := c.streams.open(c); err != nil {
					return 0, err
				}
				close(c.ready)
				return 0, c.conn.Send(link.KindReady)
			}
		}
	}
}

// inform writes a message that is no error.
func (c *client) inform(format string, args ...any) {
	if !c.options.Quiet {
		say(format, args...)
	}
}

// receive takes all frames of the server: output is written at once, all else becomes an event. As long as the output is not taken,
// nothing more is received, so that the tasks have to wait.
func (c *client) receive() {
	defer close(c.events)
	for {
		f, err := c.conn.Receive()
		if err != nil {
			return
		}
		switch f.Kind { //nolint:exhaustive // all others are events
		case link.KindOutput:
			<-c.ready
			if task, stream, data, ok := link.ReadOutput(f.Body); ok {
				c.streams.write(task, stream, data)
			}
		case link.KindTaken:
			select {
			case <-c.window:
			default:
			}
		case link.KindCreated:
			if c.streams.created(f.Body, &c.created) {
				c.events <- f
			}
		default:
			c.events <- f
		}
	}
}

// run waits for the ends of all tasks.
func (c *client) run(signals <-chan os.Signal) int {
	c.report = newReport(c.file.Job.ID, &c.created)
	if c.options.Terminal {
		c.terminal.enter(c.conn)
		defer c.terminal.leave()
	}
	if c.streams.source != nil {
		go c.send()
	}
	var pause, limit <-chan time.Time // until ends are reported; until the others are ended
	for c.report.open() > 0 {
		select {
		case s := <-signals:
			c.interrupted(s)
		case <-pause:
			if pause = nil; c.terminal.before == nil { // else at the end, when the terminal belongs to srun
				c.report.flush()
			}
		case <-limit:
			limit = nil
			c.report.flush()
			say("First task exited %ds ago", int(c.options.Wait/time.Second))
			c.report.states()
			c.terminate()
		case f, alive := <-c.events:
			if !alive || endsFirst(f) {
				c.terminal.leave() // what follows are messages of srun
			}
			if !alive {
				c.report.flush()
				say("error: the connection to the job's server of steps is lost")
				return max(c.report.code, failed)
			}
			first := c.report.ended() == 0
			bad := c.report.take(f)
			if pause == nil {
				pause = time.After(together)
			}
			if first && c.options.Wait > 0 && c.report.ended() > 0 {
				limit = time.After(c.options.Wait)
			}
			if bad && c.options.KillOnBad {
				c.terminate()
			}
		}
	}
	c.report.flush()
	c.released()
	return c.report.code
}

// patience bounds how long srun waits for the release of what its step has held.
const patience = 10 * time.Second

// released waits until the server has closed the connection, which it does when no node holds anything for the step: the next srun of the
// script finds all of the job free.
func (c *client) released() {
	limit := time.After(patience)
	for {
		select {
		case _, alive := <-c.events:
			if !alive {
				return
			}
		case <-limit:
			return
		}
	}
}

// send passes standard input on.
func (c *client) send() {
	buffer := make([]byte, link.MaxData/2)
	for {
		n, err := c.streams.source.Read(buffer)
		if n > 0 {
			c.window <- struct{}{}
			if c.conn.Send(link.KindInput, buffer[:n]) != nil {
				return
			}
		}
		if err != nil {
			_ = c.conn.Send(link.KindInputEnd) // a lost connection ends the tasks
			return
		}
	}
}
