package agent_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/node"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/simgpu"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/process"
)

// host is where an agent runs.
type host struct {
	dir, run string
	name     model.NodeID
	gpus     int
	c        *cluster
	ahead    atomic.Int64  // of the wall clock, in nanoseconds
	account  string        // of its agents, if they run jobs of the user of that name only
	program  string        // of its agents' supervisors
	devices  process.Guard // of its agents
	ready    func() error  // why no rank can start there for now; nil: ranks can
	can      string        // what its last agent found out about it
	agent    *node.Agent   // its last one
}

func newHost(t testing.TB, c *cluster, name model.NodeID, gpus int) *host {
	run, err := os.MkdirTemp("/dev/shm", "berth-test-*")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{dir: t.TempDir(), run: run, name: name, gpus: gpus, c: c, program: "/proc/self/exe"}
	t.Cleanup(h.clear)
	return h
}

// clear ends what a test has left running.
func (h *host) clear() {
	paths, _ := filepath.Glob(filepath.Join(h.run, "*", "*.status"))
	for _, path := range paths {
		var s runner.Status
		if smallfile.Read(path, &s) == nil && s.PID > 0 {
			_ = syscall.Kill(s.PID, syscall.SIGKILL)
			if s.Session > 0 {
				_ = syscall.Kill(-s.Session, syscall.SIGKILL)
			}
		}
	}
	_ = os.RemoveAll(h.run)
}

// now reads the host's clocks, as they are bent.
func (h *host) now() fence.Reading {
	r := process.Now()
	r.Real = r.Real.Add(time.Duration(h.ahead.Load()))
	return r
}

// open opens the data folder. A child that another test has forked has its lock, too, until that child executes its program.
func (h *host) open(t testing.TB) (j *journal.Journal) {
	t.Helper()
	holds(t, "the lock of the data folder", func() bool {
		var err error
		j, err = journal.OpenWith(h.dir, journal.Options{Lineage: process.Lineage})
		if err != nil && !strings.Contains(err.Error(), "another agent uses") {
			t.Fatal(err)
		}
		return err == nil
	})
	return j
}

// start runs an agent until the returned function is called.
func (h *host) start(t testing.TB) (stop func()) {
	t.Helper()
	j := h.open(t)
	boot, err := process.BootID()
	if err != nil {
		t.Fatal(err)
	}
	found, err := simgpu.Find(filepath.Join(h.dir, "gpus.json"), h.gpus)
	if err != nil {
		t.Fatal(err)
	}
	gpus, err := gpu.NewMonitor(gpu.Options{Probe: found, File: filepath.Join(h.dir, "gpu-health.json"), Boot: boot})
	if err != nil {
		t.Fatal(err)
	}
	run, warning, err := node.OpenRun(j, boot, h.run)
	if err != nil || warning != "" {
		t.Fatal(err, warning)
	}
	ranks, err := process.New(process.Options{
		Run: run, Program: []string{h.program, "supervise"}, Devices: h.devices, Home: process.Home{Dir: j.Dir(), Lineage: j.Lineage()},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.can = ranks.Host().String()
	self := node.Self{Node: h.name, Machine: "m-" + string(h.name), Boot: boot, Address: "127.0.0.1:9", Version: "test", Account: h.account}
	if h.account != "" {
		self.Accounts = model.AccountsOwn
	}
	a := node.New(node.Config{
		Self:    self,
		Journal: j, Run: run, Runner: h.gate(ranks), Ready: h.ready, GPUs: gpus, Cluster: h.c, Clock: h.now, Peers: []string{"p1", "p2", "p3"},
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	h.agent = a
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

// attempt waits for the end of an attempt and returns its only rank.
func (c *cluster) attempt(t testing.TB, key model.AttemptKey) model.Rank {
	t.Helper()
	var rank model.Rank
	c.until(t, "the end of attempt "+key.String(), func(s *statetest.Cluster) bool {
		rank, _ = s.State.Ranks.Get(key.Rank(0))
		return rank.Phase.Ended()
	})
	return rank
}

// supervisor finds the supervisor of a rank and the first process of its job.
func (h *host) supervisor(t testing.TB, key model.AttemptKey) (pid, session int) {
	t.Helper()
	s := h.status(t, key)
	return s.PID, s.Session
}

func (h *host) status(t testing.TB, key model.AttemptKey) runner.Status {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.run, "*", "*-"+strings.NewReplacer("#", "-", ".", "-").Replace(fmt.Sprintf("%d-%d-%d-r0", key.Job, key.Task, key.N))+".status"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	var s runner.Status
	if err := smallfile.Read(paths[0], &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// holds looks again and again until a condition holds.
func holds(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// appears waits for a file.
func appears(t testing.TB, path string) {
	t.Helper()
	holds(t, path, func() bool { _, err := os.Stat(path); return err == nil })
}

// gone waits until a process has ended.
func gone(t testing.TB, pid int) {
	t.Helper()
	holds(t, fmt.Sprintf("the end of process %d", pid), func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func sleeper(b *command.Submit) { b.Spec.Command = "sleep 600" }
