package process

import (
	"errors"
	"math"
	"os"
	"os/exec"
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

// A stop begins with a signal; the job's reaction is its own end, recorded together with the reason.
func TestStopWithGrace(t *testing.T) {
	k := newBench(t).rank("trap 'exit 7' TERM; echo up > up; while :; do sleep 0.01; done", func(r *runner.Record) {
		r.Frozen.Grace = time.Minute
	}).start()
	k.file("up")
	k.order(runner.Orders{Run: true, Stop: model.ReasonCancel})
	if got := k.exit(); got.Code != 7 || got.Delivered != model.ReasonCancel || got.Fenced {
		t.Errorf("ended with %+v", got)
	}
}

// A job that ignores the signal is killed when its grace is over, with all that it
// has started, in whatever session.
func TestStopWithoutGrace(t *testing.T) {
	k := newBench(t).rank("trap '' TERM; setsid sh -c 'echo $$ > child; exec sleep 600' & (setsid sh -c 'trap \"\" TERM; echo $$ > orphan; exec sleep 600' &); echo up > up; while :; do sleep 1; done",
		func(r *runner.Record) { r.Frozen.Grace = 100 * time.Millisecond }).start()
	child, orphan := k.file("child"), k.file("orphan")
	k.file("up")
	k.order(runner.Orders{Run: true, Stop: model.ReasonPreempt})
	if got := k.exit(); got.Signal != 9 || got.Delivered != model.ReasonPreempt {
		t.Errorf("ended with %+v", got)
	}
	if alive(t, child) || alive(t, orphan) {
		t.Error("it left processes behind")
	}
}

// An end by itself before a stop is not the stop's.
func TestExitBeforeStop(t *testing.T) {
	k := newBench(t).rank("exit 4", func(r *runner.Record) { r.Orders.Stop = model.ReasonNone }).start()
	k.phase(model.RankExited)
	_ = k.b.run.SetOrders(k.f.Name(), runner.Orders{Run: true, Stop: model.ReasonCancel})
	if got := k.exit(); got.Code != 4 || got.Delivered != model.ReasonNone {
		t.Errorf("ended with %+v", got)
	}
}

// The checkpoint signal reaches the processes that wait for it, and kills no other.
func TestCheckpoint(t *testing.T) {
	k := newBench(t).rank("sh -c 'trap \"echo saved > saved\" USR1; echo up > up; while :; do sleep 0.01; done' & wait; wait", func(r *runner.Record) {
		r.Job.Spec.CheckpointSignal = "USR1"
		r.Frozen.CheckpointGrace, r.Frozen.Grace = time.Minute, time.Minute
	}).start()
	k.file("up")
	k.order(runner.Orders{Run: true, Stop: model.ReasonPreempt})
	k.file("saved")
	waitFor(t, "the status after the checkpoint", func() bool { // the job may be faster than the supervisor's file
		s, err := k.b.run.Status(k.f.Name())
		return err == nil && s.Phase == model.RankRunning && s.Delivered == model.ReasonPreempt
	})
	k.order(runner.Orders{Run: true, Kill: true})
	if got := k.exit(); got.Signal != 9 || got.Delivered != model.ReasonPreempt || !got.Fenced {
		t.Errorf("ended with %+v", got)
	}
}

// The supervisor enforces the time limit without orders.
func TestTimeLimit(t *testing.T) {
	k := newBench(t).rank("sleep 600", func(r *runner.Record) { r.Frozen.TimeLimit = 50 * time.Millisecond }).start()
	if got := k.exit(); got.Signal != 15 || got.Delivered != model.ReasonTimeLimit || got.Ran < 50*time.Millisecond {
		t.Errorf("ended with %+v", got)
	}
}

// short returns lease parameters under which a rank is fenced soon: its fence begins ten
// seconds before T is over, and it may start up to ten seconds before that.
func short(onLost model.OnLost) func(*runner.Record) {
	return func(r *runner.Record) {
		r.Frozen = model.Frozen{OnLost: onLost, T: 25 * time.Second, Kill: time.Second, DriftPPM: model.DriftPPM}
	}
}

// Without an agent, a rank ends when its lease does; one that is held does not.
func TestFence(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the long tests (make test-long): it waits for fifteen seconds")
	}
	t.Parallel()
	b := newBench(t)
	fenced := b.rank("sleep 600", short(model.OnLostRequeue)).start()
	held := b.rank("sleep 600", short(model.OnLostHold)).start()
	held.phase(model.RankRunning)
	if got := fenced.exit(); !got.Fenced || got.Delivered != model.ReasonNone || got.Signal != 15 {
		t.Errorf("ended with %+v", got)
	}
	if s, err := b.run.Status(held.f.Name()); err != nil || s.Phase != model.RankRunning {
		t.Errorf("the held rank: %+v, %v", s, err)
	}
	held.order(runner.Orders{Run: true, Kill: true})
	held.exit()
}

// A lease extends only the ranks that it names: one that the agent no longer knows comes to its
// fence while the agent renews the lease of the others.
func TestALeaseThatOmitsARank(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the long tests (make test-long): it waits for fifteen seconds")
	}
	t.Parallel()
	b := newBench(t)
	omitted := b.rank("sleep 600", short(model.OnLostRequeue)).start()
	named := b.rank("sleep 600", short(model.OnLostRequeue)).start()
	named.phase(model.RankRunning)
	omitted.phase(model.RankRunning)
	waitFor(t, "the end of the omitted rank", func() bool {
		if err := b.run.SetLease(runner.Lease{Start: time.Duration(Now().Boot), Ranks: []string{named.r.Nonce}}); err != nil {
			t.Fatal(err)
		}
		s, err := b.run.Status(omitted.f.Name())
		return err == nil && s.Phase == model.RankExited
	})
	if got := omitted.exit(); !got.Fenced || got.Signal != 15 {
		t.Errorf("the omitted rank ended with %+v", got)
	}
	if s, err := b.run.Status(named.f.Name()); err != nil || s.Phase != model.RankRunning {
		t.Errorf("the named rank: %+v, %v", s, err)
	}
	named.order(runner.Orders{Run: true, Kill: true})
	named.exit()
}

// A frozen rank goes on when it may. The job starts no processes: a shell whose child is stopped before it
// has become another program waits for it in a state that is not "stopped".
func TestFreezeAndThaw(t *testing.T) {
	k := newBench(t).rank("i=0; while :; do i=$((i+1)); echo $i > beat; done", plain).start()
	k.file("beat")
	since := time.Duration(Now().Boot)
	k.order(runner.Orders{Run: true, Freeze: since})
	s := k.until("frozen", func(e runner.Event) bool { return e.Status.Frozen == since }).Status
	waitFor(t, "the job standing still", func() bool { return standsStill(s) })
	k.order(runner.Orders{Run: true, Freeze: since, Thaw: since})
	waitFor(t, "the job going on", func() bool { return !standsStill(s) })
	k.order(runner.Orders{Run: true, Kill: true})
	k.exit()
}

// standsStill reports whether a rank's first process does, by whichever means.
func standsStill(s runner.Status) bool {
	if g, err := cgroup.Open(s.Group); err == nil {
		return g.Frozen()
	}
	e, ok := proc.Look(s.Session)
	return ok && e.State == 'T'
}

// A shutdown of the host gets an orderly end that is not the job's own, and the supervisor takes no further rank.
func TestSupervisorIsAskedToEnd(t *testing.T) {
	b := newBench(t)
	k := b.rank("sleep 600", plain).start()
	s := k.phase(model.RankRunning)
	if err := unix.Kill(s.PID, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := k.exit(); got.Signal != 15 || !got.Fenced || got.Delivered != model.ReasonNone {
		t.Errorf("ended with %+v", got)
	}
	next := b.rank("true", plain).start()
	if got := next.phase(model.RankTaken); got.PID == s.PID {
		t.Error("the supervisor has taken another rank")
	}
	next.exit()
}

// A shutdown of the host sends its signal to all processes, in any order: a job that dies of the signal before its supervisor
// gets it has not ended by itself either.
func TestShutdownReachesTheJobFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 4 {
		k := b.rank("exec sleep 600", plain).start()
		s := k.phase(model.RankRunning)
		err := errors.Join(unix.Kill(s.PID, unix.SIGSTOP), unix.Kill(s.Session, unix.SIGTERM)) // stopped, it sees both at once
		waitFor(t, "the job's end", func() bool { return !lively(s.Session) })
		if err := errors.Join(err, unix.Kill(s.PID, unix.SIGTERM), unix.Kill(s.PID, unix.SIGCONT)); err != nil {
			t.Fatal(err)
		}
		if got := k.exit(); got.Signal != 15 || !got.Fenced || got.Delivered != model.ReasonNone {
			t.Errorf("ended with %+v", got)
		}
	}
}

// When a supervisor is killed the job's first process dies with it, and Bury finds
// the rest, in whatever session.
func TestBury(t *testing.T) {
	b := newBench(t)
	k := b.rank("sh -c 'echo $$ > child; exec sleep 600' & setsid sh -c 'echo $$ > other; exec sleep 600' & echo $$ > first; wait", plain).start()
	pids := []string{k.file("child"), k.file("other"), k.file("first")}
	s := k.phase(model.RankRunning)
	if err := unix.Kill(s.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.gone()
	waitFor(t, "the kernel killing the first process", func() bool { return !alive(t, pids[2]) })
	if !alive(t, pids[0]) || !alive(t, pids[1]) {
		t.Fatal("the children did not live on: the test shows nothing")
	}
	waitFor(t, "an empty rank", func() bool { return b.ranks.Bury(k.r, s) == nil })
	for _, pid := range pids {
		if alive(t, pid) {
			t.Errorf("process %s lives", pid)
		}
	}
	if phase, _, err := k.f.Phase(); phase != model.RankRunning || err != nil {
		t.Errorf("phase %s, %v", phase, err)
	}
}

// A session number that was given to another session is not killed.
func TestBuryKnowsItsOwn(t *testing.T) {
	b := newBench(t)
	k := b.rank("sleep 600", plain).start()
	s := k.phase(model.RankRunning)
	if left, _ := remains(all(), "another", runner.Status{Session: s.Session, Begun: s.Begun + 1}); len(left) != 0 {
		t.Errorf("found %+v", left)
	}
	if left, _ := remains(all(), "another", s); len(left) == 0 || left[0].Session != s.Session {
		t.Errorf("found %+v", left)
	}
	k.order(runner.Orders{Run: true, Kill: true})
	k.exit()
}

// A process in the middle of an exec may be one of the rank's: the rank does not count as gone then.
func TestBuryWaitsForAnExec(t *testing.T) {
	again := program(t, `exec "$0"`)
	cmd := exec.Command(again)
	cmd.Env = append(os.Environ(), runner.NonceVariable+"=again")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := runner.Status{Begun: math.MaxInt64} // it may be older than the job, if the prolog has left it
	for n := range 300 {
		if left, complete := remains(all(), "again", s); len(left) == 0 && complete {
			t.Fatalf("look %d: it is not found", n)
		}
	}
}

// A supervisor outlives its agent, and the next agent adopts it by what it is, not
// by its number.
func TestAdopt(t *testing.T) {
	b := newBench(t)
	k := b.rank("while [ ! -e go ]; do sleep 0.01; done; exit 9", plain).start()
	k.phase(model.RankRunning)
	b.ranks.Close()
	b.open()
	b.events = map[string][]runner.Event{}
	other := *k.r
	other.Nonce = "another"
	if _, ok := b.ranks.Adopt(k.f.Name(), &other); ok {
		t.Error("adopted by another rank")
	}
	s, ok := b.ranks.Adopt(k.f.Name(), k.r)
	if !ok || s.Phase != model.RankRunning {
		t.Fatalf("not adopted: %+v", s)
	}
	if err := os.WriteFile(filepath.Join(k.f.Path(), runner.WorkFolder, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := k.exit(); got.Code != 9 {
		t.Errorf("ended with %+v", got)
	}
	if _, ok := b.ranks.Adopt(k.f.Name(), k.r); ok {
		t.Error("adopted a supervisor that has ended")
	}
}

// Output is kept to a size: its beginning and its end. Nothing stops the job.
func TestOutputIsBounded(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	const page = 64 << 10
	s := newStream(f, page, 2*page, page)
	for i := range 64 {
		if n, err := s.Write([]byte(strings.Repeat(string(rune('a'+i%26)), page))); n != page || err != nil {
			t.Fatal(n, err)
		}
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	if used := stat.Blocks * 512; used > 5*page {
		t.Errorf("%d bytes of %d are on disk", used, stat.Size)
	}
	data, err := os.ReadFile(f.Name())
	if err != nil || len(data) != 64*page {
		t.Fatal(len(data), err)
	}
	if data[0] != 'a' || data[page-1] != 'a' || data[len(data)-1] != 'a'+63%26 || data[len(data)-2*page] != 'a'+62%26 || data[10*page] != 0 {
		t.Error("not the beginning and the end were kept")
	}
}

// A job that writes more than a pipe holds does not wait for an agent.
func TestOutputFlows(t *testing.T) {
	k := newBench(t).rank("head -c 3000000 /dev/zero | tr '\\0' x; echo done >&2", plain).start()
	k.exit()
	if out := k.output(runner.StdoutFile); len(out) != 3_000_000 || strings.Trim(out, "x") != "" {
		t.Errorf("%d bytes of output", len(out))
	}
	if out := k.output(runner.StderrFile); out != "done\n" {
		t.Errorf("stderr: %q", out)
	}
}

// A supervisor whose folder was removed ends its rank properly, and then itself.
func TestFolderRemoved(t *testing.T) {
	k := newBench(t).rank("sleep 600", plain).start()
	s := k.phase(model.RankRunning)
	if err := os.RemoveAll(k.f.Path()); err != nil {
		t.Fatal(err)
	}
	k.order(runner.Orders{Run: true, Kill: true})
	k.gone()
	if e, ok := proc.Look(s.Session); ok && !e.Gone() {
		t.Error("the job lives")
	}
}
