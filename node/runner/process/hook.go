package process

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"

	"github.com/berth-gpu/berth/node/runner"
)

// Hooks are programs of the operator's around each rank. They run as the user of the agent, with Berth's
// variables of the rank and nothing of the job's own environment. Their output is in the rank's folder, in
// "prolog" and "epilog".
type Hooks struct {
	Prolog string        // path of a program that runs before a rank is ready; if it fails the rank never starts
	Epilog string        // path of one that runs when nothing of the rank is left, before its GPUs are free
	Limit  time.Duration // how long each may take; 0: a minute
}

const (
	prologFile = "prolog"
	epilogFile = "epilog"
	hookLimit  = time.Minute
)

// hook runs a hook; an empty path is none. Processes that it leaves behind belong to the rank, and end with
// it.
func (p *place) hook(ctx context.Context, name, path string, env []string) error {
	if path == "" {
		return nil
	}
	limit := p.rules.Hooks.Limit
	if limit <= 0 {
		limit = hookLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := p.folder.Create(name)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.CommandContext(ctx, path) //nolint:gosec // the operator's
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, "/", out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	runtime.LockOSThread() // it dies with this thread
	defer runtime.UnlockOSThread()
	if err = exposed(cmd.Start); err == nil {
		err = cmd.Wait()
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case ctx.Err() != nil:
		err = fmt.Errorf("it took longer than %s", limit)
	}
	if err != nil {
		return fmt.Errorf("the node's %s %s failed: %w; what it printed is in %s", name, path, err, out.Name())
	}
	return nil
}

// hookEnvironment returns the environment of a hook.
func (g *begin) hookEnvironment() []string {
	env := append(inherited(), g.variables()...)
	if a := g.setup.account; a != nil {
		env = append(env, assign("BERTH_ACCOUNT", a.Name)...)
	}
	return append(env, runner.NonceVariable+"="+g.record.Nonce)
}

// undo runs the epilog, if it is due, and notes its failure.
func (s *supervisor) undo(exit model.Exit) {
	if !s.setup.undo {
		return
	}
	s.setup.undo = false
	env := append(s.begin().hookEnvironment(), assign("BERTH_EXIT_CODE", fmt.Sprint(exit.Code), "BERTH_EXIT_SIGNAL", fmt.Sprint(exit.Signal))...)
	if err := s.hook(context.Background(), epilogFile, s.rules.Hooks.Epilog, env); err != nil {
		s.status.Note = model.Clip(err.Error())
	}
	if s.rules.Hooks != (Hooks{}) { // which may have left processes
		s.processes.ends = make(chan reaped, 1)
		go reap(s.processes.ends)
		s.processes.end()
	}
}

// begin returns what the job begins with, in the current state.
func (s *supervisor) begin() *begin {
	return &begin{place: &s.place, setup: &s.setup, group: s.processes.group, orders: s.orders, port: s.status.Port}
}
