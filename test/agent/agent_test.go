package agent_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node"
	"github.com/berth-gpu/berth/node/gpu/simgpu"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner/process"
)

// patience bounds each wait; a busy machine is slow.
const patience = time.Minute

// TestMain is also the supervisors' main.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "supervise" {
		if err := process.Supervise(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// host is where an agent runs.
type host struct {
	dir, run string
	name     model.NodeID
	gpus     int
	c        *cluster
}

func newHost(t testing.TB, c *cluster, name model.NodeID, gpus int) *host {
	run, err := os.MkdirTemp("/dev/shm", "berth-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	return &host{dir: t.TempDir(), run: run, name: name, gpus: gpus, c: c}
}

// start runs an agent until the returned function is called.
func (h *host) start(t testing.TB) (stop func()) {
	t.Helper()
	j, err := journal.Open(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	boot, err := process.BootID()
	if err != nil {
		t.Fatal(err)
	}
	gpus, err := simgpu.Open(filepath.Join(h.dir, "gpus.json"), h.gpus)
	if err != nil {
		t.Fatal(err)
	}
	run, warning, err := node.OpenRun(j, boot, h.run)
	if err != nil || warning != "" {
		t.Fatal(err, warning)
	}
	ranks, err := process.New(process.Options{Run: run, Program: []string{"/proc/self/exe", "supervise"}})
	if err != nil {
		t.Fatal(err)
	}
	a := node.New(node.Config{
		Self:    node.Self{Node: h.name, Machine: "m-" + string(h.name), Boot: boot, Address: "127.0.0.1:9", Version: "test"},
		Journal: j, Run: run, Runner: ranks, GPUs: gpus, Cluster: h.c, Clock: process.Now,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		ranks.Close()
		_ = j.Close()
	}
	t.Cleanup(stop)
	return stop
}

func TestAJobRuns(t *testing.T) {
	c := newCluster(t)
	newHost(t, c, "n1", 2).start(t)
	job := c.submit(t, func(b *command.Submit) { b.Spec.Command = "echo hello; exit 3" })
	task := c.ended(t, job)
	if task.State != model.TaskFailed || task.ExitCode != 3 {
		t.Errorf("the task is %s with exit code %d", task.State, task.ExitCode)
	}
	c.free(t, 2)
}
