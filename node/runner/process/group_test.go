package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/cgroup"
)

// grouped returns a bench whose ranks have groups of their own.
func grouped(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	if b.ranks.groups == "" {
		t.Skipf("needs cgroups of version 2 for ranks: %s", b.ranks.Host())
	}
	return b
}

// A process that has left session, environment and parents behind is found all the
// same when its supervisor is killed.
func TestBuryWhoHasLeft(t *testing.T) {
	b := grouped(t)
	k := b.rank("setsid env -i sh -c '(setsid sh -c \"echo \\$\\$ > left; exec sleep 600\" &)'; exec sleep 600", plain).start()
	left := k.file("left")
	s := k.phase(model.RankRunning)
	waitFor(t, "a parent that is gone", func() bool { e, ok := proc.Look(number(t, left)); return ok && e.Parent == s.PID })
	if err := unix.Kill(s.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.gone()
	waitFor(t, "the kernel killing the first process", func() bool { e, ok := proc.Look(s.Session); return !ok || e.Gone() })
	if found, _ := remains(all(), k.r.Nonce, s); !alive(t, left) || len(found) > 0 {
		t.Fatal("it can be found by its environment, or died with its supervisor: the test shows nothing")
	}
	waitFor(t, "an empty rank", func() bool { return b.ranks.Bury(k.r, s) == nil })
	if alive(t, left) {
		t.Error("it lives")
	}
	if _, err := os.Stat(s.Group); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its group is still there: %v", err)
	}
}

// A frozen rank can be killed, by its supervisor and without.
func TestKillFrozen(t *testing.T) {
	b := grouped(t)
	freeze := func(k *rank) runner.Status {
		k.file("up")
		k.order(runner.Orders{Run: true, Freeze: 1})
		s := k.until("frozen", func(e runner.Event) bool { return e.Status.Frozen != 0 }).Status
		waitFor(t, "the rank standing still", func() bool { return standsStill(s) })
		return s
	}
	k := b.rank("echo up > up; exec sleep 600", plain).start()
	freeze(k)
	k.order(runner.Orders{Run: true, Freeze: 1, Kill: true})
	if got := k.exit(); got.Signal != 9 {
		t.Errorf("ended with %+v", got)
	}
	k = b.rank("echo up > up; sleep 600 & sleep 600", plain).start()
	s := freeze(k)
	if err := unix.Kill(s.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.gone()
	waitFor(t, "an empty rank", func() bool { return b.ranks.Bury(k.r, s) == nil })
}

// Each rank's group goes with it; what others left behind goes with the next agent.
func TestGroupsGo(t *testing.T) {
	b := grouped(t)
	stale := filepath.Join(b.ranks.groups, "stale")
	if err := os.Mkdir(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	k := b.rank("true", plain).start()
	k.exit()
	waitFor(t, "the group's removal", func() bool {
		_, err := os.Stat(filepath.Join(b.ranks.groups, k.f.Name()))
		return errors.Is(err, fs.ErrNotExist)
	})
	b.ranks.Close()
	b.open()
	if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a stale group: %v", err)
	}
}

// What nodes that are gone have left is removed when it is old; a folder that is
// missing is made again for the next rank.
func TestOldGroupsGo(t *testing.T) {
	base := t.TempDir()
	own := filepath.Join(base, "berth-own")
	long := time.Now().Add(-2 * oldGroup)
	for _, dir := range []string{"berth-own/a", "berth-old/a", "berth-old/b", "berth-young/a", "other/a"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"berth-own/a", "berth-own", "berth-old/a", "berth-old", "other/a", "other"} {
		if err := os.Chtimes(filepath.Join(base, dir), long, long); err != nil {
			t.Fatal(err)
		}
	}
	sweepOthers(own)
	for dir, stays := range map[string]bool{"berth-own/a": true, "berth-old/a": false, "berth-old/b": true, "berth-young/a": true, "other/a": true} {
		if exists(t, filepath.Join(base, dir)) != stays {
			t.Errorf("%s stays: %v", dir, !stays)
		}
	}
	b := grouped(t)
	if err := os.Remove(b.ranks.groups); err != nil {
		t.Fatal(err)
	}
	k := b.rank("cat /proc/self/cgroup", plain).start()
	k.exit()
	if out := k.output(runner.StdoutFile); !strings.Contains(out, filepath.Base(b.ranks.groups)+"/"+k.f.Name()) {
		t.Errorf("it ran in %s", out)
	}
}

// The kernel's kill for lack of memory is distinguished from a failure of the job's own.
func TestStarved(t *testing.T) {
	g, err := cgroup.Tree{Path: t.TempDir()}.Make("a", cgroup.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f := processes{group: g}
	if f.starved(model.Exit{Signal: 9}) {
		t.Error("starved without a word of the kernel")
	}
	if err := os.WriteFile(filepath.Join(g.Path(), "memory.events"), []byte("max 3\noom_kill 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !f.starved(model.Exit{Signal: 9}) || !f.starved(model.Exit{Code: 137}) || f.starved(model.Exit{}) ||
		(processes{}).starved(model.Exit{Code: 1}) {
		t.Error("not told apart")
	}
}

// A host without cgroups does without, and reports that.
func TestHostWithout(t *testing.T) {
	b := newBench(t)
	b.ranks.Close()
	var err error
	if b.ranks, err = New(Options{Run: b.run, Program: []string{"/proc/self/exe", "supervise"}, Kernel: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if h := b.ranks.Host(); h.Cgroup != cgroup.None || len(h.Notes) == 0 || b.ranks.groups != "" {
		t.Errorf("%s", h)
	}
	k := b.rank("(setsid sleep 600 &) ; exit 6", plain).start()
	if got := k.exit(); got.Code != 6 {
		t.Errorf("ended with %+v", got)
	}
	if left := leftOf(k.r.Nonce); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}

// The node's rules are made again when they are lost: no rank starts without them.
func TestLostRules(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.run.Path, rulesFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	k := b.rank("exit 3", plain).start()
	if got := k.exit(); got.Code != 3 || !exists(t, path) {
		t.Errorf("ended with %+v; the rules are there: %v", got, exists(t, path))
	}
}
