package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
)

// TestInteractive checks what people do by hand with Slurm's programs: an allocation whose steps come from this machine, a shell with a
// terminal in one, and a look into a job that runs. Nothing of that is left afterwards.
func TestInteractive(t *testing.T) {
	t.Parallel()
	c := start(t)
	folder := filepath.Join(t.TempDir(), "bin")
	if out, err := exec.Command(program(), "slurm", "install", folder).CombinedOutput(); err != nil {
		t.Fatalf("berth slurm install: %v\n%s", err, out)
	}
	s := &shell{cluster: c, folder: folder, dir: t.TempDir()}
	out, code := s.run("salloc", "-N2", "-n4", "--gpus-per-node=1", "sh", "-c", `srun -l sh -c 'echo $SLURMD_NODENAME of $SLURM_JOB_NODELIST'; srun -n1 sh -c 'exit 9'`)
	for _, line := range []string{"salloc: Granted job allocation 1\n", "0: node1 of node[1-2]\n", "3: node2 of node[1-2]\n", "salloc: Relinquishing job allocation 1\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("salloc writes no line %q:\n%s", line, out)
		}
	}
	if code != 9 {
		t.Errorf("salloc ends with %d: %s", code, out)
	}
	if d := c.job("1"); d.State != "completed" {
		t.Errorf("the allocation is %s", d.State)
	}
	s.terminal("srun", "--gpus-per-node=2", "--pty", "bash", "--norc", "-i")
	if d := c.job("2"); d.State != "completed" {
		t.Errorf("the job of the terminal is %s", d.State)
	}
	if out, code := s.run("sbatch", "--wrap", "touch up; while [ ! -e go ]; do sleep 0.1; done; echo found"); code != 0 {
		t.Fatal(out)
	}
	c.until("the script runs", func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "up"))
		return err == nil
	})
	if out, code := s.run("srun", "--jobid=3", "--overlap", "-n1", "sh", "-c", "echo in $SLURM_JOB_ID"); code != 0 || out != "in 3\n" {
		t.Errorf("a step in a script's job ends with %d: %s", code, out)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil { // not by the step, which ends with the script
		t.Fatal(err)
	}
	c.ended("3")
	s.signals()
	s.peerKilled()
	if out, code := s.run("srun", "--jobid=3", "true"); code != 1 || !strings.Contains(out, "Slurm job 3 has expired") {
		t.Errorf("a step in a job that has ended: %d, %s", code, out)
	}
}

// signals checks scancel with a signal, and with a step.
func (s *shell) signals() {
	s.t.Helper()
	script := `#!/bin/bash
trap 'echo script; over=1' USR1
srun -n1 sh -c 'trap "echo step; exit 5" USR2; touch step; while :; do sleep 0.1; done'; echo ended $?
srun -n1 sh -c 'touch other; exec sleep 1000'; echo ended $?
touch waits; while [ -z "$over" ]; do sleep 0.1; done
`
	if err := os.WriteFile(filepath.Join(s.dir, "script"), []byte(script), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if out, code := s.run("sbatch", "-o", "signals.out", "script"); code != 0 {
		s.t.Fatal(out)
	}
	for _, v := range []struct {
		file string
		args []string
	}{{"step", []string{"--signal=USR2", "4"}}, {"other", []string{"4.1"}}, {"waits", []string{"-b", "-s", "USR1", "4"}}} {
		s.until(v.file+" is there", func() bool {
			_, err := os.Stat(filepath.Join(s.dir, v.file))
			return err == nil
		})
		if out, code := s.run("scancel", v.args...); code != 0 || out != "" {
			s.t.Errorf("scancel %q ends with %d: %s", v.args, code, out)
		}
	}
	s.ended("4")
	text, err := os.ReadFile(filepath.Join(s.dir, "signals.out"))
	for _, line := range []string{"step\n", "ended 5\n", "ended 143\n", "script\n"} {
		if err != nil || !strings.Contains(string(text), line) {
			s.t.Errorf("no %q in the output: %v\n%s", line, err, text)
		}
	}
}

// peerKilled checks that a step from outside goes on when the peer is killed that its srun is connected to, and that all output comes.
func (s *shell) peerKilled() {
	s.t.Helper()
	cmd := s.command("salloc", "-Q", "-n1", "srun", "sh", "-c", "touch begun; while [ ! -e goon ]; do sleep 0.1; done; seq 1 100000")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.until("the step runs", func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "begun"))
		return err == nil
	})
	s.kill("p1") // the first one of the addresses
	if err := os.WriteFile(filepath.Join(s.dir, "goon"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || strings.Count(out.String(), "\n") != 100_000 || !strings.HasSuffix(out.String(), "\n100000\n") {
		s.t.Errorf("the step ends with %v and %d bytes, the last ones %q", err, out.Len(), out.String()[max(0, out.Len()-200):])
	}
}

// shell calls Slurm's programs of Berth as a user does.
type shell struct {
	*cluster
	folder, dir string
}

func (s *shell) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(s.folder, name), args...)
	cmd.Dir, cmd.WaitDelay = s.dir, patience
	cmd.Env = append(os.Environ(), "PATH="+s.folder+":"+os.Getenv("PATH"), "BERTH_ADDRESS="+strings.Join(s.addresses(), ","), "HOME="+s.dir, "PS1=ready> ")
	return cmd
}

func (s *shell) run(name string, args ...string) (string, int) {
	s.t.Helper()
	cmd := s.command(name, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// terminal runs a shell in a terminal, and leaves the shell with the exit code 4.
func (s *shell) terminal(name string, args ...string) {
	s.t.Helper()
	cmd := s.command(name, args...)
	screen, err := pty.Start(cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	var mu sync.Mutex
	var seen bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		data := make([]byte, 4<<10)
		for {
			n, err := screen.Read(data)
			mu.Lock()
			seen.Write(data[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	text := func() string {
		mu.Lock()
		defer mu.Unlock()
		return seen.String()
	}
	s.until("the shell is ready", func() bool { return strings.Contains(text(), "ready> ") })
	if _, err := screen.WriteString("echo gpus $CUDA_VISIBLE_DEVICES job $SLURM_JOB_ID; exit 4\r"); err != nil {
		s.t.Fatal(err)
	}
	<-read
	_ = cmd.Wait() // the exit code is below
	_ = screen.Close()
	if !strings.Contains(text(), "gpus 0,1 job 2\r\n") || cmd.ProcessState.ExitCode() != 4 {
		s.t.Errorf("the shell in a terminal ends with %d: %q", cmd.ProcessState.ExitCode(), text())
	}
}
