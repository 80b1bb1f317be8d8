package batch

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/contain"
	"github.com/berth-gpu/berth/slurm/run/step"
)

// launchVariable names the file of a rank to a test's process that is to be that rank.
const launchVariable = "TEST_LAUNCH"

// TestMain is also the launcher of ranks, and srun, in processes that tests start.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "srun" {
		os.Exit(step.Srun(os.Args[1:], dialTest))
	}
	if len(os.Args) == 3 && os.Args[2] == contain.Word {
		os.Exit(Run(contain.Word))
	}
	if path := os.Getenv(launchVariable); path != "" {
		os.Exit(Run(path))
	}
	os.Exit(m.Run())
}

// patience bounds each wait for a process; a busy machine is slow.
const patience = time.Minute

// job is a job whose ranks are processes of this machine.
type job struct {
	t     *testing.T
	dir   string // the working folder
	bin   string // with srun
	files []*jobfile.File
	ranks []*rankProcess
	env   []string
}

// rankProcess is a rank that was started.
type rankProcess struct {
	cmd    *exec.Cmd
	stdout buffer
	stderr buffer
	done   chan struct{}
}

// buffer keeps output, and wakes those that wait for more.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (b *buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more != nil {
		close(b.more)
	}
	b.more = make(chan struct{})
	return b.text.Write(data)
}

func (b *buffer) state() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more == nil {
		b.more = make(chan struct{})
	}
	return b.text.String(), b.more
}

func (b *buffer) String() string {
	text, _ := b.state()
	return text
}

// newJob returns a job on so many nodes, each with two tasks, four cores and two GPUs, whose script is in bash.
func newJob(t *testing.T, nodes int, script string) *job {
	t.Helper()
	top := t.TempDir()
	j := &job{t: t, dir: filepath.Join(top, "work")}
	bin := filepath.Join(top, "bin")
	j.bin = bin
	for _, dir := range []string{j.dir, bin} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, "srun"))
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(top, "script")
	writeProgram(t, path, "#!/bin/bash\n"+script+"\n")
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "SLURM") && !strings.HasPrefix(pair, "BERTH_") && !strings.HasPrefix(pair, "PATH=") {
			j.env = append(j.env, pair)
		}
	}
	j.env = append(j.env, "PATH="+bin+":"+os.Getenv("PATH"), "GOCOVERDIR="+top)
	names := []string{"a", "b", "c"}[:nodes]
	port := freePort(t)
	for rank := range nodes {
		f := &jobfile.File{Rank: rank, Command: []string{path}, WorkDir: j.dir, Folder: filepath.Join(top, names[rank]), Grace: 20_000, Secret: "secret"}
		f.Job = environ.Job{ID: 7, Name: "train", User: "ann", TmpDir: "/tmp", ScriptNodeIP: "127.0.0.1"}
		for i, name := range names {
			node := environ.Node{Name: name, Tasks: 2, Cores: 4}
			if i == rank {
				node.GPUs = []int{2 * i, 2*i + 1}
			}
			f.Job.Nodes = append(f.Job.Nodes, node)
			f.Ranks = append(f.Ranks, jobfile.Rank{Address: "127.0.0.1", Port: port})
		}
		if err := os.Mkdir(f.Folder, 0o700); err != nil {
			t.Fatal(err)
		}
		j.files = append(j.files, f)
	}
	return j
}

// writeProgram writes a program. Another process does that: what this one has open while it starts others, they have open, too, and a
// program that is open for writing cannot be started.
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `cat > "$0" && chmod 700 "$0"`, path)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("no address of TCP")
	}
	return uint16(addr.Port)
}

// start starts all ranks.
func (j *job) start() *job {
	j.t.Helper()
	for rank := range j.files {
		j.startRank(rank)
	}
	return j
}

func (j *job) startRank(rank int) {
	j.t.Helper()
	f := j.files[rank]
	path := filepath.Join(f.Folder, "slurm.json")
	if err := f.Write(path, nil); err != nil {
		j.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		j.t.Fatal(err)
	}
	p := &rankProcess{cmd: exec.Command(self), done: make(chan struct{})}
	p.cmd.Env = append(j.env, jobfile.Variable+"="+path, launchVariable+"="+path, "BERTH_NODE="+f.Job.Nodes[rank].Name)
	p.cmd.Dir = f.Folder
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.WaitDelay = patience
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := p.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	j.ranks = append(j.ranks, p)
	go func() {
		_ = p.cmd.Wait() // the result is read from the state
		close(p.done)
	}()
	j.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if j.t.Failed() {
			j.t.Logf("rank %d: %v\n--- stdout\n%s--- stderr\n%s", rank, p.cmd.ProcessState, p.stdout.String(), p.stderr.String())
		}
	})
}

// end waits for the end of the first rank and returns its exit code, or minus the signal.
func (j *job) end() int {
	j.t.Helper()
	p := j.ranks[0]
	select {
	case <-p.done:
	case <-time.After(patience):
		j.t.Fatal("the launcher did not end")
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		j.t.Fatal("no status")
	}
	if status.Signaled() {
		return -int(status.Signal())
	}
	return status.ExitStatus()
}

// wait waits until the output has a text.
func (p *rankProcess) wait(t *testing.T, b *buffer, text string) {
	t.Helper()
	limit := time.After(patience)
	for {
		have, more := b.state()
		if strings.Contains(have, text) {
			return
		}
		select {
		case <-more:
		case <-p.done:
			if !strings.Contains(b.String(), text) {
				t.Fatalf("the rank ended without %q", text)
			}
		case <-limit:
			t.Fatalf("no %q in time", text)
		}
	}
}

// out waits until the script has written a text to standard output.
func (j *job) out(text string) {
	j.t.Helper()
	j.ranks[0].wait(j.t, &j.ranks[0].stdout, text)
}

func (j *job) signal(rank int, s syscall.Signal) {
	j.t.Helper()
	if err := j.ranks[rank].cmd.Process.Signal(s); err != nil {
		j.t.Fatal(err)
	}
}

// want checks how the job ended and what it wrote.
func (j *job) want(code int, stdout string) {
	j.t.Helper()
	if got := j.end(); got != code {
		j.t.Errorf("the job ended with %d; it should end with %d", got, code)
	}
	if got := j.ranks[0].stdout.String(); got != stdout {
		j.t.Errorf("standard output is %q; it should be %q", got, stdout)
	}
}

// wantErr checks that standard error of the job has texts.
func (j *job) wantErr(texts ...string) {
	j.t.Helper()
	for _, text := range texts {
		if got := j.ranks[0].stderr.String(); !strings.Contains(got, text) {
			j.t.Errorf("standard error is %q; it should have %q", got, text)
		}
	}
}

// file returns the content of a file of the working folder.
func (j *job) file(name string) string {
	j.t.Helper()
	data, err := os.ReadFile(filepath.Join(j.dir, name))
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(data)
}

// waitGone waits until a process has ended.
func waitGone(t *testing.T, pid string) {
	t.Helper()
	waitUntil(t, "process "+pid+" has ended", func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		return err != nil || bytes.Contains(stat, []byte(") Z "))
	})
}

// waitUntil waits until something holds.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not in time: %s", what)
		}
	}
}
