package process

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/cgroup"
)

// nonceName is the variable by which all processes of a rank are known.
const nonceName = "BERTH_NONCE"

// shell runs commands.
const shell = "/bin/sh"

// launch starts the job's first process in a session of its own, and returns its
// id. The thread that calls must live as long as the job is to: the kernel kills
// the process when that thread ends.
func launch(w *place, g *cgroup.Group, gang []model.Mate, port uint16, pumps [2]*pump) (int, error) {
	f, r := w.folder, w.record
	dir, err := workFolder(f, r)
	if err != nil {
		return 0, err
	}
	env := environment(f, r, gang, port)
	argv, err := arguments(f, r, env)
	if err != nil {
		return 0, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }()
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if g != nil {
		in, err := g.Folder()
		if err != nil {
			return 0, err
		}
		defer func() { _ = in.Close() }()
		sys.UseCgroupFD, sys.CgroupFD = true, int(in.Fd()) //nolint:gosec // a descriptor fits an int
	}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{ //nolint:gosec // running what users submit is the purpose
		Dir: dir, Env: env, Files: []uintptr{null.Fd(), pumps[0].in.Fd(), pumps[1].in.Fd()},
		Sys: sys,
	})
	if err != nil {
		return 0, fmt.Errorf("%s in %s: %w", argv[0], dir, err)
	}
	return pid, nil
}

func workFolder(f *runner.Folder, r *runner.Record) (string, error) {
	if r.Job.Spec.WorkDir != "" {
		return r.Job.Spec.WorkDir, nil
	}
	dir := filepath.Join(f.Path(), runner.WorkFolder)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) { //nolint:gosec // in the rank's own folder
		return "", err
	}
	return dir, nil
}

// arguments is the command line, its first part the path of a program.
func arguments(f *runner.Folder, r *runner.Record, env []string) ([]string, error) {
	s := &r.Job.Spec
	var given []string
	if s.Argv && s.Command != "" {
		given = strings.Split(s.Command, "\x00")
	}
	switch {
	case r.Job.Script && s.Argv, r.Job.Script && s.Command == "":
		run, err := script(f)
		return append(run, given...), err
	case r.Job.Script: // a shell takes the arguments apart
		run, err := script(f)
		return append([]string{shell, "-c", `exec "$@" ` + s.Command, shell}, run...), err
	case len(given) == 0:
		return []string{shell, "-c", s.Command}, nil
	}
	path, err := find(given[0], env)
	return append([]string{path}, given[1:]...), err
}

// script is what runs the script: itself, or a shell if it does not begin with #!.
func script(f *runner.Folder) ([]string, error) {
	path := filepath.Join(f.Path(), runner.ScriptFile)
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

// find looks a program up as a shell would.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		path := filepath.Join(cmp.Or(dir, "."), name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// lookup is the last value of a variable.
func lookup(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if value, is := strings.CutPrefix(e, name+"="); is {
			return value
		}
	}
	return ""
}

// kept lists the agent's variables that a job has, too.
func kept() []string { return []string{"HOME", "PATH", "USER", "LANG", "TZ"} }

// environment is what the job finds: of the agent's own only the kept ones,
// then Berth's variables, then the job's own, which overrule them. The nonce comes
// last.
func environment(f *runner.Folder, r *runner.Record, gang []model.Mate, port uint16) []string {
	var env []string
	for _, name := range kept() {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	var indices, ids, nodes []string
	for _, g := range r.GPUs {
		indices, ids = append(indices, number(uint64(g.Index))), append(ids, string(g.ID))
	}
	master := model.Mate{Address: "127.0.0.1", Port: port}
	for _, m := range gang {
		nodes = append(nodes, string(m.Node))
		if m.Rank == 0 && m.Address != "" {
			master = m
		}
	}
	if len(nodes) == 0 {
		nodes = []string{string(r.Job.Node)}
	}
	for _, v := range [][2]string{
		{"BERTH_JOB_ID", r.Rank.Job.String()},
		{"BERTH_TASK", number(uint64(r.Rank.Task))},
		{"BERTH_ARRAY_INDEX", number(uint64(r.Rank.Task))},
		{"BERTH_ATTEMPT", number(uint64(r.Rank.N))},
		{"BERTH_NODE_RANK", number(uint64(r.Rank.Rank))},
		{"BERTH_NNODES", strconv.Itoa(len(nodes))},
		{"BERTH_NODELIST", strings.Join(nodes, ",")},
		{"BERTH_NODE", string(r.Job.Node)},
		{"BERTH_FOLDER", f.Path()},
		{"BERTH_GPU_UUIDS", strings.Join(ids, ",")},
		{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
		{"CUDA_VISIBLE_DEVICES", strings.Join(indices, ",")},
		{"MASTER_ADDR", master.Address},
		{"MASTER_PORT", number(uint64(master.Port))},
		{"WORLD_SIZE", number(uint64(r.Job.Spec.GPUs))},
	} {
		env = append(env, v[0]+"="+v[1])
	}
	for own := range strings.SplitSeq(string(r.Job.Env), "\x00") {
		if own != "" {
			env = append(env, own)
		}
	}
	return append(env, nonceName+"="+r.Nonce)
}

// reserve takes a free port for the gang to meet at. It is held until the job
// starts, and free for it then.
func reserve(address string) (net.Listener, uint16) {
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(address, "127.0.0.1"), "0"))
	if err != nil {
		return nil, 0
	}
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return l, 0
	}
	return l, uint16(a.Port) //nolint:gosec // a port
}
