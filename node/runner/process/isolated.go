package process

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// defaultUmask is the umask of isolated jobs.
const defaultUmask = 0o077

// Execute is the program's part between a supervisor and an isolated job: it becomes the job. It returns only
// on failure: the exit code, after printing the reason.
func Execute() int { return isolate.Stage() }

// isolated starts a job by the stage, which is this program again: the same file that runs here, even if
// another one has been installed in its place.
func (g *begin) isolated(attr *syscall.ProcAttr, argv []string, pumps [2]*pump) (int, error) {
	p, err := g.plan(attr.Dir, argv)
	if err != nil {
		return 0, err
	}
	for _, pump := range pumps { // so that the job can open /dev/stdout
		if err := pump.in.Chown(int(g.gear.account.UID), int(g.gear.account.GID)); err != nil {
			return 0, err
		}
	}
	file, err := p.File()
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	report, end, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = report.Close() }()
	attr.Dir, attr.Files = "/", append(attr.Files, file.Fd(), end.Fd())
	attr.Env = append(assign("GOMAXPROCS", "1", "GOGC", "off", runner.NonceVariable, g.record.Nonce), devices(g.record.GPUs)...)
	attr.Sys.Unshareflags = syscall.CLONE_NEWNS
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"berth", "supervise", "--exec"}, attr) //nolint:gosec // this program
	_ = end.Close()
	if err != nil {
		return 0, err
	}
	return pid, refusalOf(report, pid)
}

// stageLimit bounds how long a supervisor waits for the stage to become the job. What takes longer counts as started.
const stageLimit = 10 * time.Second

// refusalOf returns why the host kept a stage from becoming the job; nil: it did not. Such a stage has ended.
func refusalOf(report *os.File, pid int) error {
	_ = report.SetReadDeadline(time.Now().Add(stageLimit))
	text, _ := io.ReadAll(io.LimitReader(report, model.MaxText)) // what has come until the job began, or the limit
	if len(text) == 0 {
		return nil
	}
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			return errors.New(string(text))
		}
	}
}

// plan returns the plan of the stage.
func (g *begin) plan(dir string, argv []string) (*isolate.Plan, error) {
	rules := &g.rules.Isolate
	p := &isolate.Plan{
		Account: g.gear.account, Umask: defaultUmask, MaxOpen: rules.MaxOpen, MaxCore: rules.MaxCore, Dir: dir,
		Argv: isolate.Join(argv), Env: isolate.Join(g.environment()), Parent: os.Getpid(),
	}
	if rules.Umask != nil {
		p.Umask = *rules.Umask
	}
	if mask, given := g.umask(); given {
		p.Umask = uint32(mask)
	}
	v := &p.View
	v.Hide, v.Peers, v.Tmp = rules.Hide, rules.Peers.Covers(), filepath.Join(g.folder.Path(), runner.TmpFolder)
	if err := makeTmp(v.Tmp); err != nil {
		return nil, err
	}
	v.Keep = append(v.Keep, g.ownFolder())
	if len(g.orders.Secret) > 0 || g.slurmFile != "" {
		v.Keep = append(v.Keep, filepath.Dir(g.folder.Book()))
	}
	if g.slurmFile != "" {
		v.Keep = append(v.Keep, filepath.Dir(g.rules.Client))
		for _, path := range []string{filepath.Dir(g.rules.Daemon), g.images} {
			if filepath.IsAbs(path) && !slices.Contains(v.Keep, path) {
				v.Keep = append(v.Keep, path)
			}
		}
	}
	if g.gear.store != nil && g.gear.store.own {
		v.Keep = append(v.Keep, g.gear.store.base)
	}
	var ids []string
	for _, gpu := range g.record.GPUs {
		ids = append(ids, string(gpu.ID))
	}
	var known bool
	if v.Devices, known = isolate.Host().Others(ids); !known && len(ids) > 0 {
		g.gear.note = "the driver shows no device of its GPUs, so those of others are not hidden from it"
	}
	if !g.record.Job.Script {
		return p, nil
	}
	var err error
	v.Script = filepath.Join(g.folder.Path(), g.record.ScriptName())
	v.Text, err = os.ReadFile(v.Script)
	return p, err
}

// makeTmp makes the folder that is /tmp for an isolated job, unless it exists.
func makeTmp(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return unix.Chmod(path, 0o1777) // no other user can reach it
}
