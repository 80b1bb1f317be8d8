package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/filename"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/link"
	"github.com/berth-gpu/berth/slurm/run/process"
)

// task is one task of a step.
type task struct {
	rank   int
	status uint32   // of a task that did not start
	input  *os.File // nil: srun has none for it

	mu      sync.Mutex
	process *process.Process     // nil: it has not started
	control *os.File             // the controlling side of its terminal; nil: it has none
	stopped map[source]time.Time // when the stop signal came last
	early   unix.Signal          // came before the start
	cancel  func()               // ends what a start waits for
}

// source is a way by which the stop signal of a job comes to a task.
type source byte

// The sources: the launcher of the task's node, and srun, which gets the signal from the launcher of the first node. Those of other nodes
// are asked to stop by themselves, a little earlier or later.
const (
	byNode source = iota
	bySrun
)

// sameStop is the time within which the stop signal by one source and that by the other are the same one.
const sameStop = 5 * time.Second

// begin keeps the process of a task, and sends it what came before.
func (t *task) begin(p *process.Process) {
	t.mu.Lock()
	t.process = p
	early := t.early
	t.mu.Unlock()
	if early != 0 {
		p.Signal(early, true)
	}
}

// endings are signals that end a step whose tasks wait for their image.
var endings = []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGKILL, unix.SIGTERM}

func (t *task) signal(sig unix.Signal) {
	t.mu.Lock()
	p := t.process
	if p == nil && t.early != unix.SIGKILL {
		t.early = sig
	}
	t.mu.Unlock()
	switch {
	case p != nil:
		p.Signal(sig, true)
	case t.cancel != nil && slices.Contains(endings, sig):
		t.cancel()
	}
}

// stop sends the stop signal, unless it has just come from another source. The same source may send it again.
func (t *task) stop(sig unix.Signal, from source) {
	t.mu.Lock()
	now, double := time.Now(), false
	for other, at := range t.stopped {
		double = double || other != from && now.Sub(at) < sameStop
	}
	if t.stopped == nil {
		t.stopped = map[source]time.Time{}
	}
	t.stopped[from] = now
	terminal := t.control != nil
	t.mu.Unlock()
	if double {
		return
	}
	t.signal(sig)
	if terminal {
		t.signal(unix.SIGHUP) // a shell with a terminal ignores SIGTERM
	}
}

// place is what all tasks of a step on a node have alike.
type place struct {
	file   *jobfile.File
	own    []string
	launch *link.Launch
	job    environ.Job // with the GPUs of the step
	dir    string
}

// newPlace prepares the start of a step's tasks. note is a message for srun's standard error; empty: none.
func (n *Node) newPlace(launch *link.Launch) (p *place, note string) {
	p = &place{file: n.file, own: n.own, launch: launch, job: n.file.Job, dir: launch.Ask.Dir}
	if launch.GPUs != nil {
		p.job.Nodes = slices.Clone(p.job.Nodes)
		node := &p.job.Nodes[n.file.Rank]
		all := *node
		node.GPUs, node.Devices = nil, nil
		for _, i := range launch.GPUs {
			if i >= 0 && i < len(all.GPUs) {
				node.GPUs = append(node.GPUs, all.GPUs[i])
			}
			if i >= 0 && i < len(all.Devices) {
				node.Devices = append(node.Devices, all.Devices[i])
			}
		}
	}
	p.dir, note = Folder(p.dir)
	return p, note
}

// Folder returns the folder that a process starts in: the one that was asked for, and /tmp in place of one that is not there, as in
// Slurm. note is a message about that; empty: none.
func Folder(dir string) (in, note string) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = unix.ENOTDIR
	}
	if err == nil {
		return dir, ""
	}
	return "/tmp", fmt.Sprintf("slurmstepd: error: couldn't chdir to `%s': %s: going to /tmp instead", dir, Reason(err))
}

// Reason returns the text of an error number, as C libraries write it.
func Reason(err error) string {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return err.Error()
	}
	text := number.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// dropped are variables of the script that do not hold for the tasks of a step.
const dropped = "SLURM_TASK_PID SLURM_STEP_GPUS SLURM_GPUS_ON_NODE SLURM_JOB_GPUS CUDA_VISIBLE_DEVICES"

// environment returns the variables of a task: those of srun, those of Berth of this node, and those of the task.
func (p *place) environment(local int) ([]string, error) {
	vars := map[string]string{}
	set := func(pairs []string, keep func(name string) bool) {
		for _, pair := range pairs {
			if name, value, has := strings.Cut(pair, "="); has && keep(name) {
				vars[name] = value
			}
		}
	}
	unset := strings.Fields(dropped)
	set(p.launch.Ask.Env, func(name string) bool { return !strings.HasPrefix(name, "BERTH_") && !slices.Contains(unset, name) })
	set(p.own, func(string) bool { return true })
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL"} { // with --export=NONE
		if value := os.Getenv(name); vars[name] == "" && value != "" {
			vars[name] = value
		}
	}
	task, err := environ.Task(p.job, p.launch.Step, p.launch.Index, local, 0)
	if err != nil {
		return nil, err
	}
	tmp, changed := vars["TMPDIR"]
	changed = changed && tmp != p.launch.TmpDir
	set(task, func(name string) bool { return name != "TMPDIR" || !changed })
	if node := &p.file.Job.Nodes[p.file.Rank]; len(node.GPUs) > 0 {
		list := make([]string, len(node.GPUs))
		for i, gpu := range node.GPUs {
			list[i] = strconv.Itoa(gpu)
		}
		vars["SLURM_JOB_GPUS"] = strings.Join(list, ",")
		if len(p.job.Nodes[p.file.Rank].GPUs) == 0 {
			vars["CUDA_VISIBLE_DEVICES"] = ""
		}
	}
	all := make([]string, 0, len(vars))
	for name, value := range vars { // order-free: sorted below
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all, nil
}

// full returns a program as messages name it: one with a slash by its whole path.
func (p *place) full(program string) string {
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		return p.dir + "/" + program
	}
	return program
}

// values returns what the patterns of a task's files stand for.
func (p *place) values(rank int) filename.Values {
	v := Values(p.file)
	v.Step, v.Task = strconv.Itoa(p.launch.Step.ID), rank
	v.NodeIndex = p.launch.Index
	return v
}

// Values returns what the patterns of a job's files stand for on the node of a file.
func Values(f *jobfile.File) filename.Values {
	v := filename.Values{
		Job: f.Job.ID, ArrayTask: filename.NoTask, Name: f.Job.Name, User: f.Job.User, Step: filename.Batch,
		Node: f.Job.Nodes[f.Rank].Name, NodeIndex: f.Rank,
	}
	if f.Job.Array.Count > 0 {
		v.ArrayJob, v.ArrayTask = f.Job.Array.Job, f.Job.Array.Task
	}
	return v
}

// Open opens a file for output by its pattern, relative to a folder. A file that is a device is only written to.
func Open(pattern string, v filename.Values, dir string, keep bool) (*os.File, error) {
	return openPath(pathOf(pattern, v, dir), keep)
}

// pathOf returns the path that a pattern stands for, relative to a folder.
func pathOf(pattern string, v filename.Values, dir string) string {
	path := filename.Expand(pattern, v)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// openPath opens a file for output, at its end, so that several that have the file open do not overwrite each other.
func openPath(path string, keep bool) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if !keep {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags, 0o666) //nolint:gosec // a path of the user's, opened as the user; the umask is the user's, too
}

// OpenInput opens a file for input by its pattern.
func OpenInput(pattern string, v filename.Values, dir string) (*os.File, error) {
	return os.Open(pathOf(pattern, v, dir))
}
