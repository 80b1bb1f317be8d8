package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/simgpu"
	"github.com/berth-gpu/berth/node/runner/devices"
)

// A job opens the device of its own GPU and of no other. To this test's kernel the
// two GPUs are /dev/full (1:7) and /dev/random (1:8).
func TestOnlyItsOwnDevices(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 2)
	found, err := simgpu.Find(filepath.Join(h.dir, "gpus.json"), 2)
	if err != nil {
		t.Fatal(err)
	}
	gpus, err := found.List()
	if err != nil {
		t.Fatal(err)
	}
	kernel := t.TempDir()
	write(t, filepath.Join(kernel, "devices"), "Character devices:\n  1 nvidia\n")
	for i, g := range gpus {
		path := filepath.Join(kernel, "driver/nvidia/gpus", fmt.Sprintf("0000:%d0:00.0", i+1), "information")
		write(t, path, fmt.Sprintf("GPU UUID: %s\nDevice Minor: %d\n", g.ID, 7+i))
	}
	h.devices = devices.Guard{Kernel: devices.Kernel{Proc: kernel, Sys: kernel}}
	h.start(t)
	if strings.Contains(h.can, "devices are not denied") {
		t.Skipf("needs a host where devices can be denied to a cgroup: %s", h.can)
	}
	const look = `
		case $CUDA_VISIBLE_DEVICES in 0) own=/dev/full other=/dev/random ;; *) own=/dev/random other=/dev/full ;; esac
		head -c 0 $own || exit 3
		head -c 0 $other && exit 4
		exit 0`
	var jobs []model.JobID
	for range 2 { // on the one and on the other
		jobs = append(jobs, c.submit(t, func(b *command.Submit) { b.Spec.GPUs, b.Spec.Command = 1, look }))
	}
	for _, job := range jobs {
		if task := c.ended(t, job); task.State != model.TaskCompleted {
			t.Errorf("the task is %s with exit code %d", task.State, task.ExitCode)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
