package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestClientsOutliveTheAgent checks that commands which show the output of a job go on when the agent of its node is killed and comes back:
// no line is missing or there twice, the exit code is that of the job, and the job stays attached.
func TestClientsOutliveTheAgent(t *testing.T) {
	t.Parallel()
	c := start(t, "--nodes", "1", "--gpus", "8", "--restart=false")
	folder := filepath.Join(t.TempDir(), "bin")
	if out, err := exec.Command(program(), "slurm", "install", folder).CombinedOutput(); err != nil {
		t.Fatalf("berth slurm install: %v\n%s", err, out)
	}
	s := &shell{cluster: c, folder: folder, dir: t.TempDir()}
	const first, last = 20, 40
	script := `for i in $(seq 1 20); do echo line $i; done; touch begun.$0; while [ ! -e goon ]; do sleep 0.1; done; for i in $(seq 21 40); do echo line $i; done; exit 4`
	followed := strings.TrimSpace(c.ok("submit", "--parsable", "-g", "1", "--", "sh", "-c", "seq -f 'line %g' 3; sleep 600"))
	clients := []*watcher{
		{name: "run", code: 4, args: []string{"berth", "run", "-g", "1", "--linger", "10s", "-D", s.dir, "--", "sh", "-c", script, "run"}},
		{name: "submit", code: 4, args: []string{"berth", "submit", "--follow", "-g", "1", "-D", s.dir, "--", "sh", "-c", script, "submit"}},
		{name: "srun", code: 4, args: []string{"srun", "--gres=gpu:1", "-n1", "sh", "-c", script, "srun"}},
		{name: "salloc", code: 4, args: []string{"salloc", "-Q", "-n1", "--gres=gpu:1", "srun", "sh", "-c", script, "salloc"}},
		{name: "wait", code: 4, silent: true, args: []string{"sbatch", "--parsable", "--wait", "--gres=gpu:1", "-o", "wait.out", "--wrap", "set -- ; " + strings.ReplaceAll(script, "$0", "wait")}},
	}
	for _, f := range clients {
		f.begin(s)
	}
	for _, f := range clients {
		c.until(f.name+" has begun", func() bool { return f.begun(s, first) })
	}
	logs := &watcher{name: "logs", args: []string{"berth", "logs", "-f", followed}}
	logs.begin(s)
	c.until("the output is followed", func() bool { return logs.text(t, logs.out) == "line 1\nline 2\nline 3\n" })
	c.shoot("node1")
	for _, f := range []*watcher{clients[0], clients[1], clients[2], logs} {
		c.until(f.name+" waits for the node", func() bool { return strings.Contains(f.text(t, f.err), "cannot be reached: waiting for it") })
	}
	resume(c, "node1", 8)
	if err := os.WriteFile(filepath.Join(s.dir, "goon"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range clients {
		f.ends(t, last)
	}
	c.ok("cancel", followed)
	logs.ends(t, 3)
}

// watcher is a command that shows the output of a job.
type watcher struct {
	name   string
	args   []string
	code   int
	silent bool // it shows no output

	cmd      *exec.Cmd
	out, err string // files
}

func (f *watcher) begin(s *shell) {
	s.t.Helper()
	f.cmd = s.command(f.args[0], f.args[1:]...)
	if f.args[0] == "berth" {
		f.cmd.Path, f.cmd.Err = program(), nil
	}
	folder := s.t.TempDir()
	f.out, f.err = filepath.Join(folder, "out"), filepath.Join(folder, "err")
	out, err := os.Create(f.out)
	errs, err2 := os.Create(f.err)
	if err := errors.Join(err, err2); err != nil {
		s.t.Fatal(err)
	}
	f.cmd.Stdout, f.cmd.Stderr = out, errs
	if err := errors.Join(f.cmd.Start(), out.Close(), errs.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// begun reports whether the script has written its first lines, and the command has shown them.
func (f *watcher) begun(s *shell, lines int) bool {
	_, err := os.Stat(filepath.Join(s.dir, "begun."+f.name))
	return err == nil && (f.silent || strings.Count(f.text(s.t, f.out), "line ") == lines)
}

// text returns what the command has written to a file.
func (f *watcher) text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ends waits for the end of the command, and checks its output and its exit code.
func (f *watcher) ends(t *testing.T, lines int) {
	t.Helper()
	_ = f.cmd.Wait() // the exit code is below
	var want strings.Builder
	for i := range lines {
		want.WriteString("line " + strconv.Itoa(i+1) + "\n")
	}
	if got := f.text(t, f.out); !f.silent && got != want.String() {
		t.Errorf("%s shows %q", f.name, got)
	}
	if code := f.cmd.ProcessState.ExitCode(); code != f.code {
		t.Errorf("%s ends with %d, want %d: %s", f.name, code, f.code, f.text(t, f.err))
	}
}
