package isolate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Plan is all that the stage needs to become a job.
type Plan struct {
	Account *Account // nil: the job runs as the user of this process, with its limits, and sees the file system as it is
	Bounded bool     // the job has a limit of memory of its own, which may be why the stage lacks memory
	Umask   uint32
	MaxOpen uint64
	MaxCore uint64
	View    View
	Dir     string // working folder, or empty: as it is
	Argv    []byte // arguments joined by NUL, the first of them a program, looked for in PATH
	Env     []byte // "NAME=value" texts joined by NUL
	Parent  int    // process id of the supervisor
}

// Exit codes of a job whose program could not be started, as shells have them.
const (
	NotExecuted = 126
	NotFound    = 127
)

// Descriptors of the stage: its plan, and where it writes why the host keeps it from becoming the job. The latter closes
// as the job begins.
const (
	planFD   = 3
	reportFD = 4
)

// File returns the plan as a file in memory, to be the stage's descriptor 3.
func (p *Plan) File() (*os.File, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "plan")
	if _, err := f.WriteAt(data, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Stage is the whole of the process that becomes a job. It returns only on failure: the exit code, after
// printing the reason on standard error.
func Stage() int {
	runtime.LockOSThread() // the rights that are given up are this thread's, which becomes the job
	// The job gets none of the files that this process was started with; a kernel before 5.11 has no such call.
	if unix.CloseRange(reportFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		CloseReceived(planFD, reportFD)
		unix.CloseOnExec(reportFD)
	}
	err := stage()
	if e, ofHost := errors.AsType[*hostError](err); ofHost {
		_, _ = unix.Write(reportFD, []byte(e.Error())) // without it the job has failed
	}
	fmt.Fprintf(os.Stderr, "berth: the job cannot be started: %v\n", err)
	return Code(err)
}

// Code returns the exit code that shells have for a failure to start a program.
func Code(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return NotFound
	}
	return NotExecuted
}

// hostError is why a host cannot start jobs. No error of a path that the job's user names is one: a user can have a file
// system that answers with any error, or none.
type hostError struct{ err error }

func (e *hostError) Error() string { return e.err.Error() }
func (e *hostError) Unwrap() error { return e.err }

// ofHost returns an error of what a host does before the job as one of the host.
func (p *Plan) ofHost(err error) error {
	if err == nil || p.Bounded && errors.Is(err, unix.ENOMEM) {
		return err
	}
	return &hostError{err}
}

func stage() error {
	p, err := readPlan()
	if err != nil {
		return err
	}
	if p.Account != nil {
		for _, step := range []func() error{p.View.mount, p.hide, p.limit, p.drop} {
			if err := step(); err != nil {
				return p.ofHost(err)
			}
		}
	}
	unix.Umask(int(p.Umask))
	// A change of user has cleared what was set at the start, and this may be another thread.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return p.ofHost(err)
	}
	if os.Getppid() != p.Parent {
		return errors.New("its supervisor has ended")
	}
	if p.Dir != "" {
		if err := os.Chdir(p.Dir); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no folder %s on this node: %w", p.Dir, err)
		} else if err != nil {
			return err
		}
	}
	return p.exec()
}

func readPlan() (*Plan, error) {
	f := os.NewFile(planFD, "plan")
	p := new(Plan)
	if err := json.NewDecoder(f).Decode(p); err != nil {
		return nil, fmt.Errorf("this is a step of a supervisor's, not a command: %w", err)
	}
	return p, f.Close()
}

func (p *Plan) exec() error {
	argv, env := Split(p.Argv), Split(p.Env)
	if len(argv) == 0 {
		return errors.New("there is no program to run")
	}
	path, err := find(argv[0], env)
	if err != nil {
		return err
	}
	dir, _ := os.Getwd()                                   // empty if unknown
	return fault(path, dir, syscall.Exec(path, argv, env)) //nolint:gosec // running what users submit is the purpose
}

// fault returns the error of a program that cannot be started in a folder, in a text that names what is
// missing.
func fault(path, dir string, err error) error {
	at := path
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	switch info, missing := os.Stat(at); {
	case absent(dir):
		return fmt.Errorf("there is no folder %s on this node: %w", dir, err)
	case errors.Is(missing, fs.ErrNotExist):
		return fmt.Errorf("there is no program %s on this node (the job starts in %s): %w", at, dir, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is there, and the interpreter that its first line names is not on this node: %w", at, err)
	case missing == nil && info.IsDir():
		return fmt.Errorf("%s is a folder, not a program: %w", at, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is not executable for the job: chmod +x, or name its interpreter before it: %w", at, err)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s is no program for this machine, nor a script that begins with #!: %w", at, err)
	}
	return fmt.Errorf("%s in %s: %w", path, dir, err)
}

// absent reports whether there is no such folder.
func absent(dir string) bool {
	_, err := os.Stat(dir)
	return dir != "" && errors.Is(err, fs.ErrNotExist)
}

// Join joins texts without NUL into one; Split is the inverse.
func Join(texts []string) []byte { return []byte(strings.Join(texts, "\x00")) }

// Split splits what Join has joined.
func Split(packed []byte) []string {
	if len(packed) == 0 {
		return nil
	}
	return strings.Split(string(packed), "\x00")
}

// find finds a program as a shell would, by the last PATH of an environment.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(last(env, "PATH")) {
		path := filepath.Join(cmp.Or(dir, "."), name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %s in any folder of PATH (%s) on this node: %w", name, last(env, "PATH"), exec.ErrNotFound)
}

// last returns the last value of a variable.
func last(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if value, is := strings.CutPrefix(e, name+"="); is {
			return value
		}
	}
	return ""
}
