package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// program makes an executable shell script.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// Hooks run before and after the job, with Berth's variables of the rank and nothing that its user could slip
// in.
func TestHooks(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	b := under(t, Rules{Hooks: Hooks{
		Prolog: program(t, "echo prolog $BERTH_JOB_ID $BERTH_USER >> "+log+"; env"),
		Epilog: program(t, "echo epilog $BERTH_EXIT_CODE $BERTH_EXIT_SIGNAL >> "+log),
	}})
	k := b.rankWith(runner.Environment{Job: []byte("LD_PRELOAD=/evil\x00BASH_ENV=/evil")}, "echo job >> "+log+"; exit 3", func(r *runner.Record) {
		r.Job.Spec.User = "ada"
	}).start()
	if got := k.exit(); got.Code != 3 {
		t.Errorf("ended with %+v", got)
	}
	if data, err := os.ReadFile(log); string(data) != "prolog 7 ada\njob\nepilog 3 0\n" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if env := k.output(prologFile); strings.Contains(env, "evil") || !strings.Contains(env, "BERTH_ATTEMPT=1\n") {
		t.Errorf("the prolog found:\n%s", env)
	}
}

// A prolog that fails, hangs or is missing keeps the rank from ever starting, and the node reports why.
func TestPrologFails(t *testing.T) {
	for name, c := range map[string]struct {
		prolog, why string
		limit       time.Duration
	}{
		"fails":     {program(t, "echo broken; exit 9"), "exit status 9", time.Minute},
		"hangs":     {program(t, "sleep 600 & sleep 600"), "longer than 300ms", 300 * time.Millisecond},
		"not there": {"/does/not/exist", "no such file", time.Minute},
	} {
		epilog := filepath.Join(t.TempDir(), "ran")
		b := under(t, Rules{Hooks: Hooks{Prolog: c.prolog, Epilog: program(t, "touch "+epilog), Limit: c.limit}})
		k := b.rank("echo no", plain).start()
		s := k.phase(model.RankNever)
		if !strings.Contains(s.Note, c.why) || !strings.Contains(s.Note, "prolog") {
			t.Errorf("%s: %q", name, s.Note)
		}
		k.gone()
		if phase, _, err := k.f.Phase(); phase != model.RankNever || err != nil {
			t.Errorf("%s: phase %s, %v", name, phase, err)
		}
		if exists(t, epilog) {
			t.Errorf("%s: there was something to undo", name)
		}
		waitFor(t, "an empty rank", func() bool { return len(leftOf(k.r.Nonce)) == 0 })
	}
}

// What the prolog has done is undone even if the rank is refused meanwhile, and what
// it has left behind ends with the rank.
func TestRefusedAfterProlog(t *testing.T) {
	epilog := filepath.Join(t.TempDir(), "ran")
	b := under(t, Rules{Hooks: Hooks{Prolog: program(t, "setsid sleep 600 &"), Epilog: program(t, "touch "+epilog)}})
	k := b.rank("echo no", func(r *runner.Record) { r.Orders = runner.Orders{} }).start()
	k.phase(model.RankReady)
	waitFor(t, "something that the prolog has left", func() bool { return len(leftOf(k.r.Nonce)) > 0 })
	k.order(runner.Orders{Refuse: true})
	k.gone()
	if !exists(t, epilog) {
		t.Error("the epilog did not run")
	}
	if left := leftOf(k.r.Nonce); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}

// A rank that is refused while its prolog runs does not wait for it.
func TestRefusedDuringProlog(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	b := under(t, Rules{Hooks: Hooks{Prolog: program(t, "touch "+started+"; sleep 600"), Limit: time.Hour}})
	k := b.rank("echo no", plain).start()
	waitFor(t, "the prolog", func() bool { return exists(t, started) })
	k.order(runner.Orders{Refuse: true})
	k.gone()
	if phase, _, err := k.f.Phase(); phase != model.RankAssigned || err != nil {
		t.Errorf("phase %s, %v", phase, err)
	}
}

// A failing epilog changes nothing of the end; it is noted.
func TestEpilogFails(t *testing.T) {
	k := under(t, Rules{Hooks: Hooks{Epilog: program(t, "exit 4")}}).rank("exit 3", plain).start()
	if s := k.phase(model.RankExited); !strings.Contains(s.Note, "epilog") || !strings.Contains(s.Note, "exit status 4") {
		t.Errorf("noted %q", s.Note)
	}
	if got := k.exit(); got.Code != 3 {
		t.Errorf("ended with %+v", got)
	}
}

// A supervisor that is asked to end during a prolog ends the prolog, too.
func TestCutDuringProlog(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	b := under(t, Rules{Hooks: Hooks{Prolog: program(t, "touch "+started+"; sleep 600 & sleep 600")}})
	k := b.rank("echo no", plain).start()
	s := k.phase(model.RankTaken)
	waitFor(t, "the prolog", func() bool { return exists(t, started) })
	if err := unix.Kill(s.PID, unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
		t.Fatal(err)
	}
	k.gone()
	waitFor(t, "an empty rank", func() bool { return len(leftOf(k.r.Nonce)) == 0 })
}
