package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// under returns a bench with an operator's rules.
func under(t *testing.T, rules Rules) *bench {
	t.Helper()
	b := newBench(t)
	b.ranks.Close()
	b.rules = rules
	b.open()
	return b
}

// A job is warned once of each limit, and asked for checkpoints in even steps, whatever the supervisor missed
// meanwhile.
func TestPrompts(t *testing.T) {
	s := &model.Spec{WarnSignal: "USR1", WarnBefore: 10 * time.Second, CheckpointSignal: "USR2", CheckpointInterval: time.Minute}
	var p prompts
	const began = fence.Boot(time.Hour)
	for _, step := range []struct {
		at, limit time.Duration
		want      []string
	}{
		{0, time.Minute, nil},
		{49 * time.Second, time.Minute, nil},
		{50 * time.Second, time.Minute, []string{"USR1"}},
		{51 * time.Second, time.Minute, nil},
		{52 * time.Second, 2 * time.Minute, nil}, // the limit was moved out
		{61 * time.Second, 2 * time.Minute, []string{"USR2"}},
		{62 * time.Second, 2 * time.Minute, nil},
		{10 * time.Minute, 10 * time.Minute, []string{"USR1", "USR2"}},
		{10*time.Minute + time.Second, 0, nil},
	} {
		if got := p.due(began.Add(step.at), began, step.limit, s); !slices.Equal(got, step.want) {
			t.Errorf("after %s of %s: %v, want %v", step.at, step.limit, got, step.want)
		}
	}
	if got := new(prompts).due(began, began, time.Second, s); !slices.Equal(got, []string{"USR1"}) {
		t.Errorf("a limit that is nearer than the warning: %v", got)
	}
	if got := new(prompts).due(began.Add(time.Hour), began, time.Hour, &model.Spec{}); got != nil {
		t.Errorf("nothing was asked for: %v", got)
	}
}

// The signals reach the processes that wait for them, and no other.
func TestPromptsArrive(t *testing.T) {
	k := newBench(t).rank("sleep 600 & sh -c 'trap \"echo w >> warned\" USR1; trap \"echo c >> asked\" USR2; while :; do sleep 0.01; done' & wait", func(r *runner.Record) {
		r.Frozen.TimeLimit = time.Hour
		s := &r.Job.Spec
		s.WarnSignal, s.WarnBefore, s.CheckpointSignal, s.CheckpointInterval = "USR1", 2*time.Hour, "USR2", time.Millisecond
	}).start()
	waitFor(t, "three checkpoints", func() bool { return len(k.file("asked")) >= len("c\nc\nc") })
	_ = k.b.run.SetOrders(k.f.Name(), runner.Orders{Run: true, Kill: true})
	if got := k.exit(); got.Signal != 9 || got.Delivered != model.ReasonNone {
		t.Errorf("ended with %+v", got)
	}
}

// An extended limit holds in place of the first one, in both directions.
func TestTimeLimitExtended(t *testing.T) {
	k := newBench(t).rank("echo up > up; exec sleep 600", func(r *runner.Record) {
		r.Frozen.TimeLimit, r.Orders.TimeLimit = time.Millisecond, time.Hour
	}).start()
	k.file("up")
	since := time.Duration(Now().Boot)
	k.order(runner.Orders{Run: true, TimeLimit: time.Hour, Freeze: since}) // which it does after it has looked at its limit
	k.until("another look", func(e runner.Event) bool { return e.Status.Frozen == since })
	if e, err := k.f.Exit(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("it has ended: %+v, %v", e, err)
	}
	k.order(runner.Orders{Run: true, TimeLimit: 2 * time.Millisecond, Freeze: since, Thaw: since})
	if got := k.exit(); got.Signal != 15 || got.Delivered != model.ReasonTimeLimit {
		t.Errorf("ended with %+v", got)
	}
}

// A job finds its own folder and the newest finished one before it, and what it
// announces is known while it runs.
func TestCheckpoints(t *testing.T) {
	base := filepath.Join(t.TempDir(), "checkpoints")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	b := under(t, Rules{Checkpoints: base})
	task := filepath.Join(base, "12.3")
	for name, done := range map[string]bool{"1": true, "2": true, "3": true, "4": false, "4.5": true, "notes": true, "9": true} {
		if err := os.MkdirAll(filepath.Join(task, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if done {
			if err := os.WriteFile(filepath.Join(task, name, doneFile), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	k := b.rank("echo $BERTH_CHECKPOINT_DIR $BERTH_RESTORE_FROM $BERTH_PREEMPTED_COUNT; touch $BERTH_CHECKPOINT_DIR/.done; echo up > up; exec sleep 600", func(r *runner.Record) {
		r.Rank = model.RankKey{Job: 12, Task: 3, N: 5}
		r.Job.Preempted = 2
	}).start()
	k.until("a checkpoint", func(e runner.Event) bool { return e.Status.Saved > 0 && e.Status.Phase == model.RankRunning })
	k.order(runner.Orders{Run: true, Kill: true})
	got := k.exit()
	if got.Saved <= 0 || got.Saved > got.Ran {
		t.Errorf("ended with %+v", got)
	}
	if out, want := k.output(runner.StdoutFile), task+"/5 "+task+"/3 2\n"; out != want {
		t.Errorf("it found %q, want %q", out, want)
	}
	waitFor(t, "older checkpoints' removal", func() bool { return !exists(t, filepath.Join(task, "1")) })
	for _, name := range []string{"2", "3", "4", "5", "4.5", "notes", "9"} {
		if !exists(t, filepath.Join(task, name)) {
			t.Errorf("%s is gone", name)
		}
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// A checkpoint that a job finishes with its last breath counts.
func TestLastCheckpoint(t *testing.T) {
	base := t.TempDir()
	k := under(t, Rules{Checkpoints: base}).rank("touch $BERTH_CHECKPOINT_DIR/.done; exit 3", plain).start()
	if got := k.exit(); got.Code != 3 || got.Saved <= 0 || got.Saved > got.Ran {
		t.Errorf("ended with %+v", got)
	}
}

// An unused folder goes with the rank, and a user's own folder stays as it is.
func TestCheckpointFoldersStayOrGo(t *testing.T) {
	base, user := t.TempDir(), t.TempDir()
	b := under(t, Rules{Checkpoints: base})
	b.rank("true", plain).start().exit()
	if left, err := os.ReadDir(base); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
	for _, n := range []string{"1", "2", "3"} {
		if err := errors.Join(os.Mkdir(filepath.Join(user, n), 0o755), os.WriteFile(filepath.Join(user, n, doneFile), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	k := b.rank("echo $BERTH_RESTORE_FROM", func(r *runner.Record) { r.Rank.N, r.Job.Spec.CheckpointDir = 4, user }).start()
	if got := k.exit(); got.Saved != 0 {
		t.Errorf("ended with %+v", got)
	}
	if out := k.output(runner.StdoutFile); out != user+"/3\n" {
		t.Errorf("it found %q", out)
	}
	if left, err := os.ReadDir(user); len(left) != 4 || err != nil {
		t.Errorf("a user's folder holds %v, %v", left, err)
	}
}

// What an earlier life of the cluster finished in the same place is no news.
func TestOldNews(t *testing.T) {
	user := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(user, "1"), 0o755), os.WriteFile(filepath.Join(user, "1", doneFile), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	k := newBench(t).rank("exit 3", func(r *runner.Record) { r.Job.Spec.CheckpointDir = user }).start()
	if got := k.exit(); got.Saved != 0 {
		t.Errorf("ended with %+v", got)
	}
}

// A folder that cannot be made is the job's failure, with that message.
func TestNoCheckpointFolder(t *testing.T) {
	k := newBench(t).rank("true", func(r *runner.Record) { r.Job.Spec.CheckpointDir = "/proc/none" }).start()
	if got := k.exit(); got.Code != isolate.NotFound {
		t.Errorf("ended with %+v", got)
	}
	if said := k.output(runner.StderrFile); !strings.Contains(said, "/proc/none") {
		t.Errorf("said %q", said)
	}
}
