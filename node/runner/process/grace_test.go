package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// saver returns a program that, at a signal, waits for a file "go", then writes "saved" and
// ends. It writes "up" when it is ready for that. Its signals come one by one, so that
// one that ends in the middle of saving leaves no file.
func saver(t *testing.T, signal string) string {
	t.Helper()
	return program(t, fmt.Sprintf(`trap 'echo begun > begun; until [ -e go ]; do sleep 0.01; done; echo yes > saved; exit 0' %s
echo $$ > up
while :; do sleep 0.01; done`, signal))
}

// letGo makes the file that a saver waits for.
func (k *rank) letGo() {
	k.b.t.Helper()
	if err := os.WriteFile(filepath.Join(k.f.Path(), runner.WorkFolder, "go"), nil, 0o600); err != nil {
		k.b.t.Fatal(err)
	}
}

// saved fails if a saver did not come to its end.
func (k *rank) saved() {
	k.b.t.Helper()
	if data, err := os.ReadFile(filepath.Join(k.f.Path(), runner.WorkFolder, "saved")); string(data) != "yes\n" || err != nil {
		k.b.t.Errorf("%s: %q was saved, %v", k.r.Job.Spec.Command, data, err)
	}
}

// running fails if the rank has ended.
func (k *rank) running() {
	k.b.t.Helper()
	if e, err := k.f.Exit(); !errors.Is(err, fs.ErrNotExist) {
		k.b.t.Fatalf("the rank has ended: %+v, %v", e, err)
	}
}

// firstGone waits until the job's first process has ended.
func (k *rank) firstGone() {
	k.b.t.Helper()
	s := k.phase(model.RankRunning)
	waitFor(k.b.t, "the end of the first process", func() bool { return !lively(s.Session) })
}

// long gives a rank a grace that no test waits for, under a lease that leaves room for it.
func long(r *runner.Record) { r.Frozen.Grace, r.Frozen.T = time.Hour, 24*time.Hour }

// A stop gives its grace to every process of the rank, wherever the process is and
// whatever becomes of the first one, and the exit is the first one's.
func TestGraceOfEveryProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, command := range map[string]string{
		"in the foreground":       "%s; true",
		"in the background":       "%s & wait",
		"of a shell of a shell":   "sh -c '%s; true'; true",
		"in a group of its own":   "timeout 600 %s; true",
		"in a session of its own": "setsid %s; true",
		"daemonized":              "(setsid %s &); while :; do sleep 0.01; done",
		"in a pipeline":           "%s | cat",
	} {
		k := b.rank(fmt.Sprintf(command, saver(t, "TERM")), long).start()
		k.file("up")
		k.order(runner.Orders{Run: true, Stop: model.ReasonCancel})
		k.firstGone()
		k.file("begun")
		k.running()
		k.letGo()
		if got := k.exit(); got.Signal != 15 || got.Delivered != model.ReasonCancel || got.Fenced {
			t.Errorf("%s: ended with %+v", name, got)
		}
		k.saved()
	}
}

// A process that goes on after the first one has ended is killed when the grace is over.
func TestGraceEnds(t *testing.T) {
	t.Parallel()
	k := newBench(t).rank(saver(t, "TERM")+"; true", func(r *runner.Record) { r.Frozen.Grace = 10 * time.Millisecond }).start()
	pid := k.file("up")
	k.order(runner.Orders{Run: true, Stop: model.ReasonPreempt})
	if got := k.exit(); got.Signal != 15 || got.Delivered != model.ReasonPreempt {
		t.Errorf("ended with %+v", got)
	}
	if alive(t, pid) {
		t.Error("it lives")
	}
}

// Nothing of a grace is left when the rank must end at once.
func TestGraceIsCutShort(t *testing.T) {
	t.Parallel()
	k := newBench(t).rank(saver(t, "TERM")+"; true", long).start()
	k.file("up")
	k.order(runner.Orders{Run: true, Stop: model.ReasonDrain})
	k.firstGone()
	k.running()
	k.order(runner.Orders{Run: true, Stop: model.ReasonDrain, Kill: true})
	if got := k.exit(); got.Signal != 15 || got.Delivered != model.ReasonDrain || !got.Fenced {
		t.Errorf("ended with %+v", got)
	}
}

// A stronger reason counts as long as a process of the rank makes use of the grace.
func TestReasonOfARankThatSaves(t *testing.T) {
	t.Parallel()
	k := newBench(t).rank(saver(t, "TERM")+"; true", long).start()
	k.file("up")
	k.order(runner.Orders{Run: true, Stop: model.ReasonPreempt})
	k.firstGone()
	k.order(runner.Orders{Run: true, Stop: model.ReasonCancel})
	k.until("the stronger reason", func(e runner.Event) bool { return e.Status.Delivered == model.ReasonCancel })
	k.letGo()
	if got := k.exit(); got.Signal != 15 || got.Delivered != model.ReasonCancel {
		t.Errorf("ended with %+v", got)
	}
}

// When the first process ends at the checkpoint signal the others have the checkpoint's
// grace all the same.
func TestCheckpointGraceOfEveryProcess(t *testing.T) {
	t.Parallel()
	k := newBench(t).rank("trap 'exit 5' USR1; "+saver(t, "USR1")+" & while :; do sleep 0.01; done", func(r *runner.Record) {
		long(r)
		r.Job.Spec.CheckpointSignal, r.Frozen.CheckpointGrace = "USR1", time.Hour
	}).start()
	k.file("up")
	k.order(runner.Orders{Run: true, Stop: model.ReasonRequeue})
	k.firstGone()
	k.file("begun")
	k.running()
	k.letGo()
	if got := k.exit(); got.Code != 5 || got.Delivered != model.ReasonRequeue {
		t.Errorf("ended with %+v", got)
	}
	k.saved()
}

// The end of the node gives the grace to every process, too.
func TestGraceAtTheEndOfTheNode(t *testing.T) {
	t.Parallel()
	k := newBench(t).rank(saver(t, "TERM")+"; true", long).start()
	k.file("up")
	if err := unix.Kill(k.phase(model.RankRunning).PID, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	k.firstGone()
	k.file("begun")
	k.running()
	k.letGo()
	if got := k.exit(); got.Signal != 15 || !got.Fenced || got.Delivered != model.ReasonNone {
		t.Errorf("ended with %+v", got)
	}
	k.saved()
}

// What a job leaves behind when it ends by itself gets the stop signal and the grace. No
// stop that comes meanwhile is to blame for the end.
func TestWhatAJobLeavesBehind(t *testing.T) {
	t.Parallel()
	k := newBench(t).rank(saver(t, "TERM")+" & until [ -e up ]; do sleep 0.01; done; exit 4", long).start()
	k.firstGone()
	k.file("begun")
	k.running()
	k.order(runner.Orders{Run: true, Stop: model.ReasonCancel})
	if err := unix.Kill(k.phase(model.RankRunning).PID, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	k.letGo()
	if got := k.exit(); got.Code != 4 || got.Delivered != model.ReasonNone || got.Fenced {
		t.Errorf("ended with %+v", got)
	}
	k.saved()
}

// A process that has left the job's session gets the stop signal when the session has
// ended, so that a daemon serves those that save; one that is started meanwhile gets none.
func TestDaemonsAreStoppedLast(t *testing.T) {
	t.Parallel()
	daemon := program(t, "trap 'echo yes > told; exit 0' TERM; echo $$ > daemon; while :; do sleep 0.01; done")
	late := program(t, "trap 'echo yes > late-told' TERM; echo $$ > late; until [ -e go2 ]; do sleep 0.01; done")
	k := newBench(t).rank("(setsid "+daemon+" &); until [ -e daemon ]; do sleep 0.01; done; "+
		"trap 'setsid "+late+" & echo begun > begun; until [ -e go ]; do sleep 0.01; done; exit 0' TERM; echo up > up; while :; do sleep 0.01; done", long).start()
	k.file("up")
	pid := k.file("daemon")
	k.order(runner.Orders{Run: true, Stop: model.ReasonCancel})
	k.file("begun")
	lateOne := k.file("late")
	k.order(runner.Orders{Run: true, Stop: model.ReasonCancel, TimeLimit: time.Hour}) // another look
	if !alive(t, pid) {
		t.Error("the daemon was stopped before the session had ended")
	}
	k.letGo()
	k.file("told")
	k.running()
	if !alive(t, lateOne) || exists(t, filepath.Join(k.f.Path(), runner.WorkFolder, "late-told")) {
		t.Error("a process that was started during the stop was stopped")
	}
	if err := os.WriteFile(filepath.Join(k.f.Path(), runner.WorkFolder, "go2"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := k.exit(); got.Code != 0 || got.Delivered != model.ReasonCancel {
		t.Errorf("ended with %+v", got)
	}
}

// A process that the job has stopped is continued, so that the stop signal reaches it.
func TestStopReachesAStoppedProcess(t *testing.T) {
	t.Parallel()
	k := newBench(t).rank("echo $$ > up; kill -STOP $$; sleep 600", long).start()
	pid := number(t, k.file("up"))
	waitFor(t, "the job standing still", func() bool { return standsStill(runner.Status{Session: pid}) })
	k.order(runner.Orders{Run: true, Stop: model.ReasonCancel})
	if got := k.exit(); got.Signal != 15 || got.Delivered != model.ReasonCancel {
		t.Errorf("ended with %+v", got)
	}
}

// If a supervisor is killed while it ends what a job has left behind, the job's exit is known nevertheless.
func TestExitIsKnownBeforeTheEnd(t *testing.T) {
	t.Parallel()
	k := newBench(t).rank(saver(t, "TERM")+" & until [ -e up ]; do sleep 0.01; done; exit 4", long).start()
	k.file("begun")
	s := k.until("the first process's exit", func(e runner.Event) bool { return e.Status.Ended != nil }).Status
	if s.Ended.Code != 4 || s.Ended.Delivered != model.ReasonNone || s.Phase != model.RankRunning {
		t.Errorf("%+v of %+v", s.Ended, s)
	}
	k.killSupervisor()
	k.gone()
	waitFor(t, "an empty rank", func() bool { return k.b.ranks.Bury(k.r, s) == nil })
}

// What a supervisor is about to do is in its status before any process gets a signal: how the job has ended, the reason of a stop,
// and the fence. So the end of a rank is true whenever its supervisor is killed.
func TestStatusIsWrittenBeforeSignals(t *testing.T) {
	t.Parallel()
	const hears = `sh -c "trap 'cat %s/rank-*.status > seen; echo >> seen; exit 3' TERM; echo up > up; while :; do sleep 0.01; done"`
	for word, v := range map[string]struct {
		command string
		causes  func(*rank) error
	}{
		"Ended":    {hears + " & while [ ! -s up ]; do sleep 0.01; done; exit 0", func(*rank) error { return nil }},
		"Stopping": {"exec " + hears, func(k *rank) error { k.order(runner.Orders{Run: true, Stop: model.ReasonRequeue}); return nil }},
		"Fenced":   {"exec " + hears, func(k *rank) error { return unix.Kill(k.phase(model.RankRunning).PID, unix.SIGTERM) }},
	} {
		b := newBench(t)
		k := b.rank(fmt.Sprintf(v.command, b.run.Path), long).start()
		k.file("up")
		if err := v.causes(k); err != nil {
			t.Fatal(err)
		}
		if seen := k.file("seen"); !strings.Contains(seen, `"`+word+`"`) {
			t.Errorf("a process has got a signal, and the status is %s; want %s in it", seen, word)
		}
		k.exit()
	}
}
