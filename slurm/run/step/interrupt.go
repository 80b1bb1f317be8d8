package step

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/run/link"
)

// interrupts is what is known of Ctrl-C.
type interrupts struct {
	last       time.Time // of the last one
	sent       time.Time // when the tasks got the last one
	terminated bool
}

// twice is the time within which a second Ctrl-C counts as the second.
const twice = time.Second

// notify lets the signals that srun handles come in. One that is ignored stays so: a shell without job control lets the programs in the
// background ignore Ctrl-C.
func (*interrupts) notify(to chan<- os.Signal) {
	for _, s := range []os.Signal{
		unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
		unix.SIGCONT,
	} {
		if !signal.Ignored(s) {
			signal.Notify(to, s)
		}
	}
}

// interrupted handles a signal. The first Ctrl-C shows the states of the tasks, a second one within a second goes to the tasks, and a third
// one kills them. All other signals go to the tasks.
func (c *client) interrupted(s os.Signal) {
	number, ok := s.(unix.Signal)
	if !ok {
		return
	}
	if number != unix.SIGINT {
		_ = c.conn.Send(link.KindSignal, []byte{byte(number)}) // a lost connection ends the tasks
		return
	}
	now := time.Now()
	second := now.Sub(c.intr.last) <= twice
	c.intr.last = now
	switch {
	case now.Sub(c.intr.sent) <= twice:
		say("forcing job termination")
		_ = c.conn.Send(link.KindSignal, []byte{byte(unix.SIGKILL)}) // a lost connection ends the tasks
	case second || c.options.Interrupt:
		c.intr.sent = now
		say("sending Ctrl-C to StepId=%d.%d", c.file.Job.ID, c.created.Step)
		_ = c.conn.Send(link.KindSignal, []byte{byte(unix.SIGINT)}) // a lost connection ends the tasks
	default:
		say("interrupt (one more within 1 sec to abort)")
		c.report.states()
	}
}

// terminate ends the tasks that still run.
func (c *client) terminate() {
	if c.intr.terminated || c.report.open() == 0 {
		return
	}
	c.report.flush()
	c.intr.terminated = true
	say("launch/slurm: _step_signal: Terminating StepId=%d.%d", c.file.Job.ID, c.created.Step)
	_ = c.conn.Send(link.KindEnd) // a lost connection ends the tasks, too
}
