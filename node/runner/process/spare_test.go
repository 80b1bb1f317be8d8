package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// scoreOf reads how reluctant the kernel is to end a process.
func scoreOf(t *testing.T, pid int) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// maySpare skips a test where the kernel lets no process be spared, and exposes this process again
// afterwards.
func maySpare(t *testing.T) {
	t.Helper()
	before, err := own().get()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own().set(before) })
	if own().set(spared) != nil || own().set(before) != nil {
		t.Skip("needs CAP_SYS_RESOURCE, which root has, to lower oom_score_adj")
	}
}

// A supervisor is spared when memory runs out, and its job is not, nor what the job
// starts, nor the operator's hooks.
func TestSpared(t *testing.T) {
	maySpare(t)
	b := under(t, Rules{Hooks: Hooks{Prolog: program(t, "cat /proc/self/oom_score_adj")}})
	k := b.rank("cat /proc/$$/oom_score_adj; setsid cat /proc/self/oom_score_adj; echo go > up; sleep 600", plain).start()
	s := k.phase(model.RankRunning)
	k.file("up")
	if got := scoreOf(t, s.PID); got != strconv.Itoa(spared) {
		t.Errorf("the supervisor's score is %s", got)
	}
	if got := k.output(runner.StdoutFile); got != "0\n0\n" {
		t.Errorf("the job's scores are %q", got)
	}
	if got := k.output(prologFile); got != "0\n" {
		t.Errorf("the prolog's score is %q", got)
	}
	k.order(runner.Orders{Run: true, Kill: true})
	k.exit()
}

// A job under its user's account is not spared, and cannot change that.
func TestIsolatedIsNotSpared(t *testing.T) {
	maySpare(t)
	b := isolated(t, unchanged)
	k := b.rank("cat /proc/self/oom_score_adj; echo -900 > /proc/self/oom_score_adj || cat /proc/self/oom_score_adj", ada).start()
	k.exit()
	if got := k.output(runner.StdoutFile); got != "0\n0\n" {
		t.Errorf("its scores are %q", got)
	}
}

// What starts in a moment of exposure does not inherit what this process has; it goes
// back to what it had, and one that was never spared stays as it was.
func TestExposed(t *testing.T) {
	m := mercy(filepath.Join(t.TempDir(), "score"))
	failed := errors.New("it cannot be started")
	for _, before := range []int{-1000, spared, -17, 0, 300} {
		if err := m.set(before); err != nil {
			t.Fatal(err)
		}
		during := 1
		err := m.expose(func() error { during, _ = m.get(); return failed })
		if after, _ := m.get(); !errors.Is(err, failed) || during != max(before, 0) || after != before {
			t.Errorf("%d is %d meanwhile and %d afterwards: %v", before, during, after, err)
		}
		m.spare()
		if now, _ := m.get(); now != min(before, spared) {
			t.Errorf("%d is spared with %d", before, now)
		}
	}
}

// Where the setting is not possible, processes start nevertheless.
func TestExposedWithout(t *testing.T) {
	m, started := mercy(filepath.Join(t.TempDir(), "no", "score")), false
	m.spare()
	if err := m.expose(func() error { started = true; return nil }); err != nil || !started {
		t.Errorf("started: %t, %v", started, err)
	}
}

// A supervisor that was stopped when it had nothing left to do ends nevertheless: when its agent has no more use for it, and when that
// agent has died and another one begins.
func TestAStoppedSupervisorWithoutARankEnds(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		b := newBench(t)
		home := Home{Dir: b.dir, Lineage: "lineage"}
		b.ranks.o.Home = home
		k := b.rank("true", plain).start()
		pid := k.phase(model.RankTaken).PID
		k.exit()
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "a stopped supervisor", func() bool { e, ok := proc.Look(pid); return !ok || e.State == 'T' })
		if dies {
			b.ranks.mu.Lock()
			for _, w := range b.ranks.idle {
				w.close()
			}
			b.ranks.idle = nil
			b.ranks.mu.Unlock()
		}
		b.ranks.Close()
		b.open()
		b.ranks.o.Home = home
		if left := b.ranks.Survivors(); len(left) > 0 {
			t.Errorf("it has a rank: %+v", left)
		}
		waitFor(t, "the end of the supervisor", func() bool { return !lively(pid) })
	}
}
