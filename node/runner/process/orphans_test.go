package process

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// ungrouped returns a bench on a host without cgroups of version 2.
func ungrouped(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.ranks.Close()
	b.kernel = t.TempDir()
	b.open()
	return b
}

// A process that has left session, environment and parents behind comes to the agent when
// its supervisor is killed, by the job itself for example, and is ended.
func TestBuryOrphans(t *testing.T) {
	t.Parallel()
	b := ungrouped(t)
	k := b.rank("setsid env -i sh -c '(setsid sh -c \"echo \\$\\$ > left; exec sleep 600\" &)'; until [ -s left -a -e go ]; do sleep 0.01; done; kill -9 $PPID; sleep 600", plain).start()
	left := k.file("left")
	s := k.phase(model.RankRunning)
	k.letGo()
	k.gone()
	waitFor(t, "the agent taking the orphan in", func() bool { e, ok := proc.Look(number(t, left)); return ok && e.Parent == os.Getpid() })
	waitFor(t, "the kernel killing the first process", func() bool { return !lively(s.Session) })
	found, _ := remains(all(), k.r.Nonce, s)
	if slices.ContainsFunc(found, func(e proc.Stat) bool { return e.PID == number(t, left) }) {
		t.Fatal("it is found otherwise: the test shows nothing")
	}
	waitFor(t, "an empty rank", func() bool { return b.ranks.Bury(k.r, s) == nil })
	if alive(t, left) {
		t.Error("it lives")
	}
	waitFor(t, "its being collected", func() bool {
		supervisors.orphans()
		_, there := proc.Look(number(t, left))
		return !there
	})
}

// Neither supervisors nor what the agent has started for itself are orphans.
func TestWhatIsNoOrphan(t *testing.T) {
	t.Parallel()
	b := ungrouped(t)
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	k := b.rank("(setsid sleep 600 &); echo $$ > up; sleep 600", plain).start()
	first := number(t, k.file("up"))
	s := k.phase(model.RankRunning)
	for _, e := range supervisors.orphans() {
		if e.PID == s.PID || e.PID == cmd.Process.Pid || e.Session == first || proc.Below(e.PID, func(pid int) bool { return pid == s.PID }) {
			t.Errorf("%+v is taken for an orphan", e)
		}
	}
	k.order(runner.Orders{Run: true, Kill: true})
	k.exit()
}

// If the agent ends before the supervisor is killed, what the rank may have left keeps it
// from ending, and is named.
func TestSuspects(t *testing.T) {
	t.Parallel()
	b := ungrouped(t)
	cmd := exec.Command("sleep", "600") // it stands for an orphan of another process than an agent: of this one
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	begin := func() (*os.Process, error) { err := cmd.Start(); return cmd.Process, err }
	if _, err := supervisors.start(begin); err != nil { // it is not to be taken for an orphan of this one's
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		supervisors.collect(cmd.Process)
	})
	waitFor(t, "another program", func() bool { return proc.Name(pid) == "sleep" })
	e, _ := proc.Look(pid)
	s := runner.Status{PID: 1, Born: e.Born, Place: placeOf(pid), Agent: runner.Started{PID: 1, Reaper: os.Getpid()}}
	is := func(s runner.Status) bool {
		return slices.ContainsFunc(b.ranks.suspects(all(), s), func(o proc.Stat) bool { return o.ID == e.ID })
	}
	if !is(s) {
		t.Error("it is not suspected")
	}
	for name, change := range map[string]func(*runner.Status){
		"an older process":     func(s *runner.Status) { s.Born++ },
		"one of other cgroups": func(s *runner.Status) { s.Place++ },
		"a child of another":   func(s *runner.Status) { s.Agent.Reaper = e.PID },
		"one of this agent's own": func(s *runner.Status) {
			self, _ := proc.Look(os.Getpid())
			s.Agent.PID, s.Agent.Born = self.PID, self.Born
		},
		"one of a rank that never began": func(s *runner.Status) { *s = runner.Status{} },
	} {
		other := s
		if change(&other); is(other) {
			t.Errorf("%s is suspected", name)
		}
	}
	k := b.rank("true", plain)
	left, isLeft := errors.AsType[*leftError](b.ranks.Bury(k.r, s))
	if !isLeft || !slices.ContainsFunc(left.suspects, func(o proc.Stat) bool { return o.ID == e.ID }) || !lively(pid) {
		t.Fatalf("the rank is reaped with %v; the process lives: %v", left, lively(pid))
	}
	left.suspects = []proc.Stat{e}
	if text := left.Error(); !strings.Contains(text, "sleep (pid "+decimal(uint32(pid))+")") || !strings.Contains(text, "end them") {
		t.Errorf("it says %q", text)
	}
}

// The process that takes in orphans is found, or this one is it.
func TestReaper(t *testing.T) {
	t.Parallel()
	reaper, err := adoptOrphans()
	if err != nil || reaper < 0 || reaper == os.Getpid() {
		t.Errorf("reaper %d, %v", reaper, err)
	}
	if again, err := adoptOrphans(); again != 0 || err != nil {
		t.Errorf("once this process takes in orphans: %d, %v", again, err)
	}
}
