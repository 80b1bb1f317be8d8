package slurm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/test/internal/sources"
)

// programs returns a folder with Berth's programs: BERTH_PROGRAMS, or one that they are built to.
func programs(t *testing.T) string {
	t.Helper()
	if err := sources.Read("../.."); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("BERTH_PROGRAMS"); dir != "" {
		return dir
	}
	dir := t.TempDir()
	for name, cgo := range map[string]string{"berth-supervisor": "0", "berth": "0", "berthd": "1"} { // order-free: each is built alone
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, name), "github.com/berth-gpu/berth/cmd/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", name, err, out)
		}
	}
	return dir
}

// startBerth runs a cluster with two nodes until the test's end, and returns its address and a folder with
// links named as Slurm's programs.
func startBerth(t *testing.T, dir string) (address, links string) {
	t.Helper()
	from := programs(t)
	address, links = fmt.Sprintf("127.0.0.1:%d", freePort(t)), filepath.Join(dir, "links")
	if out, err := exec.Command(filepath.Join(from, "berth"), "slurm", "install", links).CombinedOutput(); err != nil {
		t.Fatalf("berth slurm install: %v\n%s", err, out)
	}
	dev := exec.Command(filepath.Join(from, "berth"), "dev", "--data", filepath.Join(dir, "data"), "--http", address, "--peers", "1", "--gpus", "4")
	dev.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dev.Stderr = os.Stderr
	out, err := dev.StdoutPipe()
	if err == nil {
		err = dev.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready, gone := make(chan struct{}), make(chan struct{})
	go follow(dev, out, ready, gone)
	t.Cleanup(func() {
		_ = dev.Process.Signal(syscall.SIGINT)
		select {
		case <-gone:
		case <-time.After(patience):
			t.Error("berth dev did not end")
			_ = dev.Process.Kill()
		}
	})
	select {
	case <-ready:
	case <-gone:
		t.Fatal("berth dev ended before it was ready")
	case <-time.After(patience):
		t.Fatal("berth dev did not get ready")
	}
	policy := exec.Command(filepath.Join(from, "berth"), "policy", "--set", "cpu_share=100") // jobs without GPUs may hold all cores
	policy.Env = append(os.Environ(), "BERTH_ADDRESS="+address)
	if out, err := policy.CombinedOutput(); err != nil {
		t.Fatalf("berth policy: %v\n%s", err, out)
	}
	return address, links
}

// follow reads what berth dev prints, until its end.
func follow(dev *exec.Cmd, out io.Reader, ready, gone chan struct{}) {
	defer close(gone)
	said := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !said && strings.Contains(lines.Text(), "Ctrl-C ends the cluster") {
			said = true
			close(ready)
		}
	}
	_ = dev.Wait()
}

// side is one of the two systems: how its sbatch is run.
type side struct {
	name   string
	sbatch string
	env    []string
	dir    string // with a folder for each script

	results []result // of each script
	failed  []error
}

// result is what a script has left.
type result struct {
	job    string
	code   int
	stderr string
	files  map[string]string // by name
}

var allocated = regexp.MustCompile(`Granted job allocation ([0-9]+)`)

// run submits a script, waits for its end and returns what the script has left.
func (s *side) run(t *testing.T, c *script) (result, error) {
	t.Helper()
	dir := filepath.Join(s.dir, c.name)
	program := s.sbatch
	if c.salloc {
		program = filepath.Join(filepath.Dir(s.sbatch), "salloc")
	}
	cmd := exec.Command(program, c.command(t, dir)...)
	cmd.Dir, cmd.Env = dir, append([]string{"HOME=/root", "USER=root", "MINE=mine", "PWD=" + dir}, s.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	out, err := cmd.Output()
	limit.Stop()
	if ended := new(exec.ExitError); err != nil && !errors.As(err, &ended) {
		return result{}, err
	}
	job, found := strings.CutPrefix(strings.TrimSpace(string(out)), "Submitted batch job ")
	if granted := allocated.FindStringSubmatch(stderr.String()); c.salloc && granted != nil {
		job, found = granted[1], true
	}
	if !found || cmd.ProcessState.ExitCode() < 0 {
		return result{}, fmt.Errorf("%s: sbatch of %s: %s, printed %q and %q", s.name, c.name, cmd.ProcessState, out, stderr.String())
	}
	files, err := read(dir)
	if c.salloc {
		files["printed"], files["printed.err"] = string(out), stderr.String()
	}
	return result{job: job, code: cmd.ProcessState.ExitCode(), stderr: stderr.String(), files: files}, err
}

// read returns the files below a folder.
func read(dir string) (map[string]string, error) {
	files := map[string]string{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		files[name] = string(text)
		return err
	})
	return files, err
}
