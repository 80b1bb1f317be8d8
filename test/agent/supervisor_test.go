package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// smallSupervisor builds the program for supervisors alone.
func smallSupervisor(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "berth-supervisor")
	cmd := exec.Command("go", "build", "-o", path, "github.com/berth-gpu/berth/cmd/berth-supervisor")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// An agent adopts the supervisors of an agent before it that had another program for
// them, in both directions: what goes on ends as it should, and so does what is
// canceled. What it starts itself has its own program.
func TestSupervisorsOfBothPrograms(t *testing.T) {
	small := smallSupervisor(t)
	for before, after := range map[string]string{"/proc/self/exe": small, small: "/proc/self/exe"} {
		c := newCluster(t)
		h := newHost(t, c, "n1", 2)
		h.program = before
		stop := h.start(t)
		dir := t.TempDir()
		goesOn := c.submit(t, func(b *command.Submit) { b.Spec.Command = "while [ ! -e " + dir + "/go ]; do sleep 0.01; done; exit 9" })
		canceled := c.submit(t, sleeper)
		pid, _ := h.supervisor(t, c.running(t, goesOn))
		c.running(t, canceled)
		runs(t, pid, before)
		stop()
		h.program = after
		h.start(t)
		c.do(&command.Cancel{Job: canceled, Task: model.AllTasks})
		if task := c.ended(t, canceled); task.State != model.TaskCanceled || task.Attempts != 1 {
			t.Errorf("by %s, then %s: what was canceled is %s after %d attempts", before, after, task.State, task.Attempts)
		}
		next := c.submit(t, sleeper)
		pid, _ = h.supervisor(t, c.running(t, next))
		runs(t, pid, after)
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if task := c.ended(t, goesOn); task.ExitCode != 9 || task.Attempts != 1 {
			t.Errorf("by %s, then %s: what went on has exit code %d after %d attempts", before, after, task.ExitCode, task.Attempts)
		}
	}
}

// runs reports whether a process runs a program.
func runs(t *testing.T, pid int, program string) {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.HasPrefix(string(line), program+"\x00") {
		t.Errorf("process %d is %q, want %s: %v", pid, line, program, err)
	}
}
