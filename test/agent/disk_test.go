package agent_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// small gives a host's data folder a file system of its own, and returns a function that fills it.
func small(t *testing.T, h *host) (fill func() (filler string)) {
	t.Helper()
	if err := unix.Mount("tmpfs", h.dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("needs the right to mount a file system (CAP_SYS_ADMIN): %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(h.dir, unix.MNT_DETACH) })
	return func() string {
		path := filepath.Join(h.dir, "filler")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		zero, err := os.Open("/dev/zero")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(struct{ io.Writer }{f}, struct{ io.Reader }{zero}); !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
		if err := errors.Join(f.Close(), zero.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// pass lets time pass by the state's clock, so that a wait is over. However often pass is called
// before the next command, the time is at most d ahead of the clock: a command that is stamped
// further ahead than a clock may jump is refused, and so is every one after.
func (c *cluster) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c.Now = max(c.c.Now, c.c.State.Settings().Clock.Add(d))
}

func (c *cluster) trouble(t *testing.T, what string, want bool) (trouble string) {
	t.Helper()
	c.until(t, what, func(s *statetest.Cluster) bool {
		n, _ := s.State.Nodes.Get("n1")
		trouble = n.Trouble
		return (trouble != "") == want
	})
	return trouble
}

// A node whose disk is full reports that and gets no work. A rank that waits to start there is returned with
// the reason, uncharged, and starts once there is room; running ranks go on, and their ends are reported.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	h := newHost(t, c, "n1", 2)
	fill := small(t, h)
	h.start(t)
	c.free(t, 2)
	before := c.submit(t, func(b *command.Submit) {
		b.Spec.Command = "until [ -e " + filepath.Join(h.run, "go") + " ]; do sleep 0.05; done"
	})
	c.running(t, before)

	c.cut(true)
	filler := fill()
	waiting := c.submit(t, func(b *command.Submit) { b.Spec.Command = "true" })
	if task, _ := stateOf(c).Tasks.Get(model.TaskKey{Job: waiting}); task.State != model.TaskScheduled {
		t.Fatalf("the second job is %s", task.State)
	}
	c.cut(false)
	c.until(t, "the rank given back", func(s *statetest.Cluster) bool {
		task, _ := s.State.Tasks.Get(model.TaskKey{Job: waiting})
		return task.State == model.TaskQueued && task.Attempts == 1 && task.Retries == 0
	})
	said := false
	for _, e := range stateOf(c).Events.All() {
		said = said || e.What == model.EventRefused && strings.Contains(e.Detail, "this node cannot start jobs: the disk of "+h.dir)
	}
	if why := c.trouble(t, "the node in trouble", true); !said || !strings.Contains(why, h.dir) {
		t.Errorf("the refusal gives the reason: %v; the node's trouble is %q", said, why)
	}
	if err := os.WriteFile(filepath.Join(h.run, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if task := c.ended(t, before); task.State != model.TaskCompleted {
		t.Errorf("what ran is %s", task.State)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	c.trouble(t, "the end of the trouble", false)
	c.pass(time.Minute)
	if task := c.ended(t, waiting); task.State != model.TaskCompleted || task.Attempts != 2 {
		t.Errorf("what waited is %s after %d attempts", task.State, task.Attempts)
	}
}

// What ended jobs have left makes room for others: a job that fills the disk closes its node for a
// moment only.
func TestAJobFillsTheDisk(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	small(t, h)
	h.start(t)
	filler := c.submit(t, func(b *command.Submit) { b.Spec.Command = "head -c 100M /dev/zero > x; exit 3" })
	if task := c.ended(t, filler); task.State != model.TaskFailed || task.ExitCode != 3 {
		t.Errorf("what fills the disk is %s with exit code %d", task.State, task.ExitCode)
	}
	next := c.submit(t, func(b *command.Submit) { b.Spec.Command = "true" })
	holds(t, "the end of the next job", func() bool {
		task, _ := stateOf(c).Tasks.Get(model.TaskKey{Job: next})
		if task.State == model.TaskQueued {
			c.pass(10 * time.Second) // the node was degraded, or has given the job back
		}
		return task.State.Terminal()
	})
	if task := c.ended(t, next); task.State != model.TaskCompleted {
		t.Errorf("the next job is %s", task.State)
	}
	c.trouble(t, "the node well", false)
}
