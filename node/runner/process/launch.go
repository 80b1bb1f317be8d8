package process

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/cgroup"
)

// shell runs commands.
const shell = "/bin/sh"

// begin is what a job begins with.
type begin struct {
	*place

	setup  *setup
	group  *cgroup.Group // nil: it has none
	orders runner.Orders
	port   uint16
	env    runner.Environment

	slurmFile string // describes the job to its programs; empty: the job is not in Slurm's language
}

// launch starts the stage, which becomes the job's first process, in a session of its own, and returns its id and its
// report. The calling thread must live as long as the job: the kernel kills the process when that thread ends.
func (g *begin) launch(pumps [2]*pump) (pid int, report *os.File, err error) {
	dir, err := g.workFolder()
	if err != nil {
		return 0, nil, err
	}
	argv, err := g.arguments()
	if err == nil {
		g.env, err = g.run.Environment(g.folder.Name(), &g.record.Job)
	}
	if err == nil {
		err = g.share()
	}
	if err == nil && g.record.Job.Spec.Slurm != "" {
		argv, err = g.slurm(argv, dir)
		dir = g.ownFolder() // of the launcher, which takes another folder for the script if that one is not there
	}
	if err != nil {
		return 0, nil, err
	}
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if g.group != nil {
		in, err := g.group.Folder()
		if err != nil {
			return 0, nil, err
		}
		defer func() { _ = in.Close() }()
		sys.UseCgroupFD, sys.CgroupFD = true, int(in.Fd())
	}
	in, err := g.stdin()
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = in.Close() }()
	plan := g.plan(dir, argv)
	if g.setup.account != nil {
		sys.Unshareflags = syscall.CLONE_NEWNS
		if err := g.isolate(plan, pumps); err != nil {
			return 0, nil, err
		}
	}
	return g.stage(&syscall.ProcAttr{Files: []uintptr{in.Fd(), pumps[0].in.Fd(), pumps[1].in.Fd()}, Sys: sys}, plan)
}

// umask returns the mask of file modes that the job was submitted with.
func (g *begin) umask() (mask uint32, given bool) {
	n, err := strconv.ParseUint(g.record.Job.Spec.Umask, 8, 9)
	return uint32(n), err == nil
}

// slurm returns the command line by which a rank of a job in Slurm's language starts, for a script that starts by argv in a
// folder: the program berth, which is the launcher of the script on rank 0 and the server of steps on the other ranks.
func (g *begin) slurm(argv []string, dir string) ([]string, error) {
	if g.rules.Client == "" {
		return nil, errors.New("this node cannot start jobs in Slurm's language: the program berth is not installed next to berthd")
	}
	err := g.setup.own(filepath.Join(g.folder.Path(), runner.GangFolder), 0o700)
	if err != nil {
		return nil, err
	}
	job := &runner.SlurmJob{
		Client: g.rules.Client, Daemon: g.rules.Daemon, Command: argv, WorkDir: dir, Port: g.port, Now: time.Now(),
		Account: runner.OwnIdentity(),
	}
	if a := g.setup.account; a != nil {
		job.Account = runner.Identity{User: a.Name, UID: int(a.UID), GID: int(a.GID)}
	}
	job.Images = g.setup.images
	path, err := g.folder.WriteSlurm(g.record, &g.orders, job)
	g.slurmFile = path
	return []string{g.rules.Client, "slurm-batch", path}, err
}

// share writes what the ranks of an attempt on several nodes need to find each other.
func (g *begin) share() error {
	if len(g.orders.Secret) == 0 {
		return nil
	}
	if err := g.setup.own(filepath.Dir(g.folder.Book()), 0o700); err != nil {
		return err
	}
	var owner *[2]int
	if a := g.setup.account; a != nil {
		owner = &[2]int{int(a.UID), int(a.GID)}
	}
	return g.folder.WriteBook(g.record.Rank.Rank, &g.orders, owner)
}

// stdin opens the job's standard input: the one it was submitted with, or an empty one.
func (g *begin) stdin() (*os.File, error) {
	if g.record.Job.Stdin {
		return os.Open(filepath.Join(g.folder.Path(), runner.StdinFile)) //nolint:gosec // a file of the rank's folder
	}
	return os.Open(os.DevNull)
}

// workFolder makes the job's own folder, and returns the job's working directory: that folder, or the one
// that its submission names.
func (g *begin) workFolder() (string, error) {
	own := g.ownFolder()
	return cmp.Or(g.record.Job.Spec.WorkDir, own), g.setup.own(own, 0o700)
}

// arguments returns the command line, which begins with a program.
func (g *begin) arguments() ([]string, error) {
	s := &g.record.Job.Spec
	var given []string
	if s.Argv && s.Command != "" {
		given = strings.Split(s.Command, "\x00")
	}
	switch {
	case g.record.Job.Script && s.Argv, g.record.Job.Script && s.Command == "":
		run, err := script(g)
		return append(run, given...), err
	case g.record.Job.Script: // a shell takes the arguments apart
		run, err := script(g)
		return append([]string{shell, "-c", `exec "$@" ` + s.Command, shell}, run...), err
	case len(given) == 0:
		return []string{shell, "-c", s.Command}, nil
	}
	return given, nil
}

// script returns the command for the script: itself, or a shell if it does not begin with #!.
func script(g *begin) ([]string, error) {
	path := filepath.Join(g.folder.Path(), g.record.ScriptName())
	file, err := os.Open(path) //nolint:gosec // in the rank's own folder
	if err != nil {
		return nil, err
	}
	head := make([]byte, 2)
	n, _ := file.Read(head) // an empty script is a shell's, too
	if string(head[:n]) != "#!" {
		return []string{shell, path}, file.Close()
	}
	return []string{path}, file.Close()
}
