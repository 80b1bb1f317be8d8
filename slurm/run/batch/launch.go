package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/berth-gpu/berth/slurm/run/inherit"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/process"
	"github.com/berth-gpu/berth/slurm/run/step"
	"github.com/berth-gpu/berth/slurm/run/task"
)

// launch runs the script, and returns when the script has ended. An allocation has none: it lasts until salloc gives it back.
func (r *rank) launch() int {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	server, err := step.NewServer(r.file, r.node, r.containers)
	if err == nil {
		err = server.Listen(ctx)
	}
	if err != nil {
		return complain(failed, "the job has no server of steps: %v", err)
	}
	if r.file.Request.Allocation {
		return r.allocate(server.Released())
	}
	streams, err := r.open()
	if err != nil {
		return complain(failed, "the job cannot start: %v", err)
	}
	starter, leave, stopped, err := r.enter(ctx, streams.complain)
	if stopped {
		return die(unix.WaitStatus(r.stop))
	}
	if err != nil {
		return streams.refuse(err)
	}
	defer leave()
	script, err := r.start(starter, streams)
	if err != nil {
		return streams.refuse(err)
	}
	server.HasScript(script.Signal)
	streams.begin()
	for running := true; running; {
		select {
		case s := <-r.signals:
			if number, ok := s.(unix.Signal); ok {
				r.relay(number, script)
			}
		case <-script.Done:
			running = false
		}
	}
	streams.finish()
	signal.Stop(r.signals)
	return die(script.Status)
}

// allocate lets steps run until the allocation is given back, which ends all of them, or until the stop signal has come and all have ended.
func (r *rank) allocate(released <-chan struct{}) int {
	var idle <-chan struct{}
	for {
		select {
		case <-released:
			return 0
		case <-idle:
			signal.Stop(r.signals)
			return die(unix.WaitStatus(r.stop))
		case s := <-r.signals:
			if number, ok := s.(unix.Signal); ok && r.relay(number, nil) {
				idle = r.node.Idle()
			}
		}
	}
}

// stageVariable is set for the process that becomes the script: the same program with the same arguments, which knows its number.
const stageVariable = "BERTH_SLURM_STAGE"

// start starts the process of the script.
func (r *rank) start(starter process.Starter, s *scriptFiles) (*process.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	defer s.given()
	dir, _ := task.Folder(r.file.WorkDir) // the script's own standard error has the message
	return starter.Run(&process.Command{
		Argv: append([]string{self}, os.Args[1:]...), Env: append(os.Environ(), stageVariable+"=1"), Dir: dir,
		Files: [3]*os.File{s.stdin, s.child[0], s.child[1]}, Umask: -1,
	})
}

// enter becomes the script. It returns only if that fails.
func enter(file *jobfile.File) int {
	env := merge(os.Environ(), environ.Batch(file.Job, os.Getpid()))
	env = slices.DeleteFunc(env, func(pair string) bool { return strings.HasPrefix(pair, stageVariable+"=") })
	if _, note := task.Folder(file.WorkDir); note != "" && !file.Request.Container.Given() {
		fmt.Fprintln(os.Stderr, note)
	}
	path, err := look(file.Command[0], env)
	if err == nil {
		limits, _ := inherit.Parse(file.Request.Limits) // names that this version does not know have no effect
		inherit.Set(limits)
		err = syscall.Exec(path, file.Command, env) //nolint:gosec // the user's script
	}
	return unable(path, file.Command[0], err)
}

// limited becomes a program with limits: words are these, the path of the program, and its arguments with its name.
func limited(words []string) int {
	if len(words) < 3 {
		return complain(failed, "this is a step of starting a task, not a command")
	}
	limits, _ := inherit.Parse(words[0])
	inherit.Set(limits)
	err := syscall.Exec(words[1], words[2:], os.Environ()) //nolint:gosec // the user's program
	return unable(words[1], words[2], err)
}

// unable reports why a script cannot start, in the words of Slurm, and returns the exit code: the number of the error.
func unable(path, program string, err error) int {
	code := failed
	if number, is := errors.AsType[syscall.Errno](err); is {
		code = int(number) & 0xff
	}
	if by := interpreter(path); by != "" && errors.Is(err, unix.ENOENT) {
		program = "bad interpreter(" + by + ")"
	}
	fmt.Fprintf(os.Stderr, "slurmstepd: error: execve(): %s: %s\n", program, task.Reason(err))
	return code
}

// interpreter returns the program that a script names in its first line; empty: there is no such line.
func interpreter(path string) string {
	file, err := os.Open(path) //nolint:gosec // the user's script
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, 256) // as much as the kernel reads
	n, _ := file.Read(head)
	line, is := strings.CutPrefix(string(head[:n]), "#!")
	if line, _, _ = strings.Cut(line, "\n"); !is || strings.TrimSpace(line) == "" {
		return ""
	}
	return strings.Fields(line)[0]
}

// look returns the path of a program: that of a name without a slash by PATH.
func look(program string, env []string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	for _, pair := range env {
		list, found := strings.CutPrefix(pair, "PATH=")
		if !found {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path := filepath.Join(dir, program); unix.Access(path, unix.X_OK) == nil {
				return path, nil
			}
		}
	}
	return "", unix.ENOENT
}

// merge returns variables with others in place of those of the same names.
func merge(base, more []string) []string {
	names := map[string]bool{}
	for _, pair := range more {
		name, _, _ := strings.Cut(pair, "=")
		names[name] = true
	}
	all := slices.DeleteFunc(slices.Clone(base), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return names[name]
	})
	return append(all, more...)
}
