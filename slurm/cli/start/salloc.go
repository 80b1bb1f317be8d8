package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/cli/submit"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/sbatch"
)

// Salloc carries out a command line of salloc, without the name of the program: it waits for an allocation, runs a program on this machine
// whose srun runs steps in the allocation, gives the allocation back, and returns the exit code of the program: 128 and the signal that has
// ended it.
func Salloc(h *host.Host, args []string, stdout, stderr io.Writer) int {
	ctx, stop := cmdline.UntilSignal()
	defer stop()
	return exitCode("salloc", salloc(ctx, h, stop, args, stdout, stderr), stderr)
}

const sallocHelp = `Usage: salloc [OPTIONS] [PROGRAM [ARGUMENTS...]]

Waits for an allocation of nodes, runs a program on this machine, by default a shell, and gives the
allocation back. srun in that program runs steps on the nodes. docs/slurm.md describes the options.
`

func salloc(ctx context.Context, h *host.Host, stop func(), args []string, stdout, stderr io.Writer) error {
	if err := submit.InUTF8(args); err != nil {
		return err
	}
	parsed, err := sbatch.ParseAllocation(args)
	if err != nil {
		return err
	}
	switch parsed.Help {
	case "version":
		_, err := fmt.Fprintln(stdout, h.Slurm())
		return err
	case "help", "usage":
		_, err := io.WriteString(stdout, sallocHelp)
		return err
	}
	command := append([]string{parsed.Script}, parsed.Arguments...)
	parsed.Script, parsed.Arguments = interactive, nil
	a := &allocation{say: stderr, prefix: "salloc: ", quiet: parsed.Quiet}
	if err := a.submit(ctx, h, &submit.Job{Command: parsed.Command, Env: sallocVariable}, parsed.NoShell); err != nil {
		return err
	}
	if !parsed.NoShell {
		defer a.release()
	}
	if err := a.start(ctx, parsed.Immediate); err != nil || parsed.NoShell {
		return err
	}
	stop() // signals are for the program
	return a.program(command, parsed.KillSignal)
}

// interactive is the name of an allocation that has no other.
const interactive = "interactive"

// sallocVariable returns the variable of salloc that stands for an option, by the name that the variable of sbatch has.
func sallocVariable(name string) (string, bool) {
	if rest, is := strings.CutPrefix(name, "SBATCH_"); is {
		return os.LookupEnv("SALLOC_" + rest)
	}
	return "", false
}

// program runs a program, by default a shell, until it ends, and passes signals on. kill is the signal for a program that outlasts the
// allocation.
func (a *allocation) program(command []string, kill string) error {
	if command[0] == "" {
		command = []string{os.Getenv("SHELL")}
		if command[0] == "" {
			command[0] = "/bin/sh"
		}
		if kill == "" && term.IsTerminal(int(os.Stdin.Fd())) {
			kill = "HUP"
		}
	}
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // the user's program
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.environment(), os.Stdin, os.Stdout, os.Stderr
	// Keys such as Ctrl-C reach the program by the terminal. Signals that are caught here have their usual effect in the program.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = fmt.Errorf("_fork_command: Unable to find command %q", command[0])
		}
		fmt.Fprintf(a.say, "salloc: error: %v\n", err)
		a.relinquish()
		return cmdline.ExitError(cmdline.ExitFailure)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	watched, stop := context.WithCancel(context.Background())
	defer stop()
	revoked := make(chan struct{})
	go a.watch(watched, revoked)
	for {
		select {
		case s := <-signals:
			if s != unix.SIGINT && s != unix.SIGQUIT {
				_ = cmd.Process.Signal(s) // the program may have ended
			}
		case <-revoked:
			a.revoked = true
			revoked = nil
			fmt.Fprintf(a.say, "salloc: Job allocation %s has been revoked.\n", a.id)
			if kill != "" {
				_ = cmd.Process.Signal(unix.Signal(form.SignalNumber(kill))) // the program may have ended
			}
		case err := <-ended:
			a.relinquish()
			return exitOf(err)
		}
	}
}

func (a *allocation) relinquish() {
	if !a.revoked {
		a.inform("Relinquishing job allocation %s", a.id)
	}
}

// watch closes revoked when the allocation does not run any more. One that would run again, such as after a preemption, is canceled: its
// steps are gone.
func (a *allocation) watch(ctx context.Context, revoked chan<- struct{}) {
	d, err := cmdline.WatchJob(ctx, a.api, a.id, func(d *wire.Detail) (bool, error) { return d.State != wire.StateRunning, nil })
	if err != nil {
		return
	}
	waiting := []string{wire.StateQueued, wire.StateScheduled, wire.StateAllocating}
	if slices.Contains(waiting, d.State) {
		_, _ = a.api.Cancel(ctx, a.id, client.AllTasks, "the allocation was lost") // otherwise the cluster cancels the job after the time linger
	}
	close(revoked)
}

// exitOf returns the end of the program as the end of this one.
func exitOf(err error) error {
	exit, is := errors.AsType[*exec.ExitError](err)
	if !is {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return cmdline.ExitError(128 + int(status.Signal()))
	}
	return cmdline.ExitError(exit.ExitCode())
}
