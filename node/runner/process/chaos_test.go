package process

import (
	"bytes"
	"errors"
	"fmt"
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
)

// marker returns an argument that no other process on this host has, of a "sleep" that
// outlives every test.
func marker() string { return fmt.Sprintf("%d.%d", 100_000_000+os.Getpid(), time.Now().UnixNano()) }

// survivors returns the living processes with an argument: whatever session, parents,
// environment and descriptors they have.
func survivors(mark string) (out []proc.Stat) {
	for _, e := range all() {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.PID))
		if err == nil && bytes.Contains(args, []byte("\x00"+mark+"\x00")) && bytes.HasPrefix(args, []byte("sleep\x00")) {
			out = append(out, e)
		}
	}
	return out
}

// escapes returns ways to get away from a supervisor; %s is a marker.
func escapes() map[string]string {
	return map[string]string{
		"fork":         "sleep %[1]s & sleep %[1]s & %[2]s",
		"double fork":  "(sh -c 'sleep %[1]s & exec sleep %[1]s' &); %[2]s",
		"setsid":       "setsid sleep %[1]s & (setsid sh -c '(setsid sleep %[1]s &)' &); %[2]s",
		"closed":       "setsid sleep %[1]s <&- >&- 2>&- & %[2]s",
		"ignores TERM": "(trap '' TERM HUP INT; setsid sleep %[1]s &); trap '' TERM; %[2]s",
		"stopped":      "sleep %[1]s & until grep -q sleep /proc/$!/comm; do :; done; kill -STOP $!; %[2]s",
		"many":         "for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sleep %[1]s &); done; %[2]s",
	}
}

// No way of forking leaves an orphan, whether the job ends by itself, is stopped or
// is killed.
func TestNoOrphans(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, command := range escapes() {
		for _, end := range []string{"exit 0", "kill -9 $$", "stop", "kill"} {
			mark, last := marker(), end
			if end == "stop" || end == "kill" {
				last = "echo up > up; while :; do sleep 0.05; done"
			}
			k := b.rank(fmt.Sprintf(command, mark, last), func(r *runner.Record) { r.Frozen.Grace = 50 * time.Millisecond }).start()
			if last != end {
				k.file("up")
				waitFor(t, name+" leaving something behind", func() bool { return len(survivors(mark)) > 0 })
				k.order(runner.Orders{Run: true, Kill: end == "kill", Stop: map[string]model.Reason{"stop": model.ReasonCancel}[end]})
			}
			k.exit()
			if left := survivors(mark); len(left) > 0 {
				t.Errorf("%s, %s: left %+v", name, end, left)
			}
		}
	}
}

// The same when the supervisor is killed and the agent buries the rank: with groups every process, without
// them all that keep session or environment.
func TestNoOrphansBuried(t *testing.T) {
	t.Parallel()
	kernels := map[string]string{"with groups": "", "without": t.TempDir()}
	for kernel, root := range kernels {
		b := newBench(t)
		b.ranks.Close()
		b.kernel = root
		b.open()
		for name, command := range escapes() {
			mark := marker()
			k := b.rank(fmt.Sprintf(command, mark, "echo up > up; sleep 600"), plain).start()
			k.file("up")
			waitFor(t, name+" leaving something behind", func() bool { return len(survivors(mark)) > 0 })
			s := k.phase(model.RankRunning)
			if err := unix.Kill(s.PID, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			k.gone()
			waitFor(t, "an empty rank", func() bool { return b.ranks.Bury(k.r, s) == nil })
			if left := survivors(mark); len(left) > 0 {
				t.Errorf("%s, %s: left %+v", kernel, name, left)
			}
		}
	}
}

// A supervisor that is killed at any point leaves a rank that is reaped without a
// trace, and is never started again.
func TestKilledAtAnyPoint(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const points = 30
	count := map[model.RankPhase]int{}
	for i := range points {
		mark := marker()
		k := b.rank(fmt.Sprintf("echo x >> count; (setsid sleep %s &); sleep 0.01", mark), plain)
		begun := time.Now()
		k.start()
		waitFor(t, "the point", func() bool { return time.Since(begun) >= time.Duration(i)*2*time.Millisecond })
		k.killSupervisor()
		k.gone()
		s, err := b.run.Status(k.f.Name())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		waitFor(t, "an empty rank", func() bool { return b.ranks.Bury(k.r, s) == nil })
		if left := survivors(mark); len(left) > 0 {
			t.Errorf("point %d: left %+v", i, left)
		}
		phase, _, err := k.f.Phase()
		if err != nil {
			t.Fatal(err)
		}
		count[phase]++
		if phase == model.RankAssigned {
			continue // nothing has started, and the agent sees to it that nothing does
		}
		delete(b.events, k.f.Name())
		k.start().gone()
		if data, _ := os.ReadFile(filepath.Join(k.f.Path(), runner.WorkFolder, "count")); len(data) > len("x\n") {
			t.Errorf("point %d: it ran %q", i, data)
		}
	}
	t.Log("phases found:", count)
}

// killSupervisor kills a rank's supervisor, whatever it does.
func (k *rank) killSupervisor() {
	k.b.ranks.mu.Lock()
	defer k.b.ranks.mu.Unlock()
	if w := k.b.ranks.watched[k.r.Nonce]; w != nil {
		_ = w.handle.signal(unix.SIGKILL) // one that has ended needs none
		return
	}
	for _, w := range k.b.ranks.idle {
		_ = w.handle.signal(unix.SIGKILL)
	}
}

// A supervisor that was stopped over its rank's expiry ends it the moment it goes on.
func TestStoppedOverExpiry(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the long tests (make test-long): it waits for a lease to end")
	}
	t.Parallel()
	b := newBench(t)
	k := b.rank("trap '' TERM; while :; do sleep 0.05; done", func(r *runner.Record) {
		short(model.OnLostRequeue)(r)
		r.Frozen.T = 21 * time.Second // it may start for another second
	}).start()
	s := k.phase(model.RankRunning)
	b.ranks.Close() // an agent would have it go on
	if err := unix.Kill(s.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the expiry", func() bool { return time.Duration(Now().Boot) > k.r.Start+k.r.Frozen.T })
	if !lively(s.Session) {
		t.Fatal("the job has ended: the test shows nothing")
	}
	if err := unix.Kill(s.PID, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end", func() bool { _, err := k.f.Exit(); return err == nil })
	if e, err := k.f.Exit(); err != nil || !e.Fenced || e.Signal != 9 {
		t.Errorf("ended with %+v, %v", e, err)
	}
	waitFor(t, "the supervisor's end", func() bool { return !lively(s.PID) }) // until then it writes to the run folder
	b.open()
}

func lively(pid int) bool { e, ok := proc.Look(pid); return ok && !e.Gone() }

// A process that has a supervisor's number later is not that supervisor.
func TestAdoptKnowsItsOwn(t *testing.T) {
	b := newBench(t)
	k := b.rank("sleep 600", plain).start()
	s := k.phase(model.RankRunning)
	b.ranks.Close()
	b.open()
	b.events = map[string][]runner.Event{}
	fake := s
	fake.Born++
	if err := b.run.SetStatus(k.f.Name(), fake); err != nil {
		t.Fatal(err)
	}
	if got, ok := b.ranks.Adopt(k.f.Name(), k.r); ok {
		t.Errorf("adopted %+v", got)
	}
	fake = s
	fake.PID = 1 // certainly born at another time; this test's process may have begun in the same tick
	if err := b.run.SetStatus(k.f.Name(), fake); err != nil {
		t.Fatal(err)
	}
	if got, ok := b.ranks.Adopt(k.f.Name(), k.r); ok {
		t.Errorf("adopted %+v", got)
	}
	if err := b.run.SetStatus(k.f.Name(), s); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.ranks.Adopt(k.f.Name(), k.r); !ok {
		t.Error("not adopted")
	}
	k.order(runner.Orders{Run: true, Kill: true})
	k.exit()
}

// full is a file system of that many bytes for ranks' folders.
func full(t *testing.T, b *bench, size int) {
	t.Helper()
	if err := unix.Mount("tmpfs", b.dir, "tmpfs", 0, fmt.Sprintf("size=%d,nr_inodes=64", size)); err != nil {
		t.Skipf("needs the right to mount a file system (CAP_SYS_ADMIN): %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(b.dir, unix.MNT_DETACH) })
}

// A full disk stops no job, and its end is written down at once: there is room for that from the
// beginning. What it has put into its private /tmp is gone by then.
func TestFullDisk(t *testing.T) {
	b := newBench(t)
	full(t, b, 256<<10)
	k := b.rank("head -c 1000000 /dev/zero; exit 3", plain)
	tmp := filepath.Join(k.f.Path(), runner.TmpFolder)
	if err := errors.Join(os.Mkdir(tmp, 0o700), os.WriteFile(filepath.Join(tmp, "x"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for i := range 64 { // the end does not need what /tmp frees
		if os.WriteFile(filepath.Join(b.dir, "more"), make([]byte, (64-i)<<12), 0o600) == nil {
			break
		}
	}
	if got := k.start().exit(); got.Code != 3 {
		t.Errorf("ended with %+v", got)
	}
	if exists(t, tmp) {
		t.Error("its end is told before its /tmp is gone")
	}
	if err := os.WriteFile(filepath.Join(b.dir, "probe"), make([]byte, 16<<10), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("there was room, so that the test shows nothing: %v", err)
	}
}

// A job that takes more of the disk than it may is stopped with a reason, also if it has deleted
// what it goes on writing to.
func TestDiskLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ranks.Close()
	b.rules.Scratch = Scratch{Bytes: 1 << 20}
	b.open()
	for name, command := range map[string]string{
		"a file":         "head -c 8000000 /dev/zero > x; sleep 600",
		"a deleted file": "exec 3> x; rm x; head -c 8000000 /dev/zero >&3; sleep 600",
		"output":         "head -c 8000000 /dev/zero; sleep 600",
		"errors":         "head -c 8000000 /dev/zero >&2; sleep 600",
		"a deep folder":  "for i in 1 2 3 4 5 6 7 8 9 10; do mkdir d; cd d; done; head -c 8000000 /dev/zero > x; sleep 600",
	} {
		k := b.rank(command, plain).start()
		got := k.exit()
		if got.Delivered != model.ReasonDiskLimit || got.DiskMB < 7 || got.DiskMaxMB != 1 {
			t.Errorf("%s: ended with %+v", name, got)
		}
		if said := k.output(runner.StderrFile); !strings.HasSuffix(said, "berth: the job was stopped: it used 7 of 1 MiB of temporary space\n") {
			t.Errorf("%s: said %q", name, said)
		}
	}
}

// Where there is no room even for the latch nothing starts.
func TestFullDiskAtStart(t *testing.T) {
	b := newBench(t)
	full(t, b, 256<<10)
	k := b.rank("echo no >> "+filepath.Join(b.run.Path, "ran"), plain)
	for i := 0; os.WriteFile(filepath.Join(b.dir, fmt.Sprint(i)), nil, 0o600) == nil; i++ { // until there is no room for a name
	}
	k.start().gone()
	if phase, _, err := k.f.Phase(); phase != model.RankAssigned || err != nil {
		t.Errorf("phase %s, %v", phase, err)
	}
	if exists(t, filepath.Join(b.run.Path, "ran")) {
		t.Error("it ran")
	}
}

// A hundred ranks, ended in every way, leave nothing.
func TestHundredCycles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mark := marker()
	for i := range 100 {
		k := b.rank(fmt.Sprintf("(setsid sleep %s &); echo up > up; sleep 600", mark), func(r *runner.Record) {
			r.Frozen.Grace = 10 * time.Millisecond
			if i%4 == 0 {
				r.Job.Spec.Command = strings.Replace(r.Job.Spec.Command, "sleep 600", "exit 0", 1)
			}
		}).start()
		switch i % 4 {
		case 1:
			k.file("up")
			k.order(runner.Orders{Run: true, Stop: model.ReasonPreempt})
		case 2:
			k.order(runner.Orders{Run: true, Kill: true})
		case 3:
			k.killSupervisor()
			k.gone()
			s, _ := b.run.Status(k.f.Name()) // without one nothing was started
			waitFor(t, "an empty rank", func() bool { return b.ranks.Bury(k.r, s) == nil })
			continue
		}
		k.gone()
	}
	if left := survivors(mark); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}
