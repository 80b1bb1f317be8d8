package process

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// stranger is an account that no user here has.
const stranger = "nobody"

// isolated returns a bench whose ranks run under the accounts of their users; ada's is the account "nobody".
func isolated(t *testing.T, change func(*Rules)) *bench {
	t.Helper()
	if why := isolate.Possible(); why != nil {
		t.Skipf("needs a host that can isolate jobs: %v", why)
	}
	if _, err := user.Lookup(stranger); err != nil {
		t.Skipf("needs the account %s: %v", stranger, err)
	}
	b := newBench(t)
	b.ranks.Close()
	b.rules.Isolate = isolate.Rules{On: true, Map: map[string]string{"ada": stranger}, Hide: []string{b.dir}}
	change(&b.rules)
	b.open()
	return b
}

func ada(r *runner.Record) { r.Job.Spec.User = "ada" }

func unchanged(*Rules) {}

// An isolated job is its user, with nothing beyond that.
func TestIsolated(t *testing.T) {
	who, err := user.Lookup(stranger)
	if err != nil {
		t.Skipf("needs the account %s: %v", stranger, err)
	}
	b := isolated(t, unchanged)
	k := b.rank(`id -u; id -g; umask; ulimit -c; echo $USER; pwd; touch mine && echo ok
grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs):' /proc/self/status`, ada).start()
	if got := k.exit(); got.Code != 0 {
		t.Fatalf("ended with %+v: %s", got, k.output(runner.StderrFile))
	}
	want := strings.Join([]string{who.Uid, who.Gid, "0077", "0", stranger, filepath.Join(k.f.Path(), runner.WorkFolder), "ok"}, "\n") + "\n"
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		want += set + ":\t0000000000000000\n"
	}
	if out := k.output(runner.StdoutFile); out != want+"NoNewPrivs:\t1\n" {
		t.Errorf("it found\n%s\nwant\n%s", out, want)
	}
	var stat unix.Stat_t
	if err := unix.Stat(filepath.Join(k.f.Path(), runner.WorkFolder, "mine"), &stat); err != nil || fmt.Sprint(stat.Uid) != who.Uid ||
		stat.Mode&0o777 != 0o600 {
		t.Errorf("its file is %+v, %v", stat, err)
	}
}

// It sees its working folder and its script, and neither the agent's folders nor
// other users' temporary files.
func TestIsolatedView(t *testing.T) {
	b := isolated(t, unchanged)
	secret, err := os.CreateTemp("", "secret-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(secret.Name()) })
	if err := secret.Close(); err != nil {
		t.Fatal(err)
	}
	own := "own-" + filepath.Base(secret.Name()) // a file name that no other test has
	k := b.rank("", func(r *runner.Record) { ada(r); r.Job.Script, r.Job.Spec.Command = true, "" })
	script := `#!/bin/sh
echo "args $0"
ls -A /dev/shm /tmp | grep -v "^$(echo "$BERTH_FOLDER" | cut -d/ -f3)$"
for f in rank.json exit.json latch stdout .; do touch "$BERTH_FOLDER/../$f" 2>/dev/null && echo "may write $f"; done
test -r ` + secret.Name() + ` && echo sees the secret
cd /tmp && echo private > ` + own + ` && cat ` + own + `
cd /dev/shm && echo shared > ` + own + ` && cat ` + own + `
cd /
echo out > /dev/stdout
umount /tmp 2>/dev/null && echo may unmount
unshare -Urm umount /tmp 2>/dev/null && echo may unmount by a namespace
exit 0
`
	if err := os.WriteFile(filepath.Join(k.f.Path(), runner.ScriptFile), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := k.start().exit(); got.Code != 0 {
		t.Fatalf("ended with %+v: %s", got, k.output(runner.StderrFile))
	}
	want := "args " + filepath.Join(k.f.Path(), runner.ScriptFile) + "\n/dev/shm:\n\n/tmp:\nprivate\nshared\nout\n"
	if out := k.output(runner.StdoutFile); out != want {
		t.Errorf("it found\n%s\nwant\n%s", out, want)
	}
	for _, path := range []string{"/tmp/" + own, "/dev/shm/" + own} {
		if exists(t, path) {
			t.Errorf("%s is outside, too", path)
		}
	}
	waitFor(t, "the removal of its /tmp", func() bool { return !exists(t, filepath.Join(k.f.Path(), runner.TmpFolder)) })
}

// A job of a user without an account, or with root's, does not start on this node, which reports why: another node may have
// the account.
func TestNoAccount(t *testing.T) {
	b := isolated(t, func(r *Rules) { r.Isolate.Map["eve"] = "root"; r.Isolate.Map["bob"] = "no-such-account" })
	for name, why := range map[string]string{"eve": "no job as root", "bob": "no account", "../root": "no account", "0": "no account", "": "no account"} {
		k := b.rank("echo no", func(r *runner.Record) { r.Job.Spec.User = name }).start()
		if s := k.phase(model.RankNever); !s.NoAccount || !strings.Contains(s.Note, why) {
			t.Errorf("%s: %+v", name, s)
		}
		k.gone()
		if exists(t, filepath.Join(k.f.Path(), runner.StdoutFile)) {
			t.Errorf("%s: ran", name)
		}
	}
}

// Root's account loses its capabilities even where it is allowed.
func TestIsolatedRoot(t *testing.T) {
	b := isolated(t, func(r *Rules) { r.Isolate.Map["ada"], r.Isolate.Root = "root", true })
	k := b.rank("id -u; grep CapEff /proc/self/status", ada).start()
	k.exit()
	if out := k.output(runner.StdoutFile); out != "0\nCapEff:\t0000000000000000\n" {
		t.Errorf("it found %q", out)
	}
}

// What cannot be started under an account ends as in a shell.
func TestIsolatedCannotStart(t *testing.T) {
	b := isolated(t, unchanged)
	closed := t.TempDir()
	for name, c := range map[string]struct {
		change func(*runner.Record)
		code   int32
		why    string
	}{
		"no program":    {func(r *runner.Record) { r.Job.Spec.Argv, r.Job.Spec.Command = true, "does-not-exist\x00a" }, 127, "does-not-exist"},
		"no folder":     {func(r *runner.Record) { r.Job.Spec.WorkDir = "/does/not/exist" }, 127, "/does/not/exist"},
		"closed folder": {func(r *runner.Record) { r.Job.Spec.WorkDir = "/root" }, 126, "permission"},
		"no checkpoint": {func(r *runner.Record) { r.Job.Spec.CheckpointDir = closed + "/a" }, 126, "permission"},
	} {
		k := b.rank("true", func(r *runner.Record) { ada(r); c.change(r) }).start()
		if got := k.exit(); got.Code != c.code || got.Signal != 0 || got.Refused {
			t.Errorf("%s: ended with %+v", name, got)
		}
		if said := k.output(runner.StderrFile); !strings.Contains(said, c.why) {
			t.Errorf("%s: said %q", name, said)
		}
	}
}

// Its checkpoints are its own, in the node's place, and the supervisor sees them.
func TestIsolatedCheckpoints(t *testing.T) {
	base, err := os.MkdirTemp("", "checkpoints-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	base = filepath.Join(base, "below-a-closed-folder")
	b := isolated(t, func(r *Rules) { r.Checkpoints, r.Isolate.Hide = base, append(r.Isolate.Hide, filepath.Dir(base)) })
	k := b.rank("touch $BERTH_CHECKPOINT_DIR/.done", ada).start()
	if got := k.exit(); got.Code != 0 || got.Saved <= 0 {
		t.Errorf("ended with %+v: %s", got, k.output(runner.StderrFile))
	}
	var stat unix.Stat_t
	if err := unix.Stat(filepath.Join(base, "7", "1", doneFile), &stat); err != nil || stat.Uid == 0 {
		t.Errorf("%+v, %v", stat, err)
	}
	k = b.rank("echo $BERTH_RESTORE_FROM", func(r *runner.Record) { ada(r); r.Rank.N = 2 }).start()
	k.exit()
	if out := k.output(runner.StdoutFile); out != base+"/7/1\n" {
		t.Errorf("it found %q", out)
	}
}

// An isolated job ends with its supervisor, is stopped and reaped like any other.
func TestIsolatedEnds(t *testing.T) {
	b := isolated(t, unchanged)
	k := b.rank("echo up > up; trap 'exit 7' TERM; while :; do sleep 0.01; done", ada).start()
	k.file("up")
	k.order(runner.Orders{Run: true, Stop: model.ReasonCancel})
	if got := k.exit(); got.Code != 7 || got.Delivered != model.ReasonCancel {
		t.Errorf("ended with %+v", got)
	}
	k = b.rank("echo $$ > up; sleep 600 & setsid sleep 600 & exec sleep 600", ada).start()
	first := k.file("up")
	s := k.phase(model.RankRunning)
	if err := unix.Kill(s.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.gone()
	waitFor(t, "the kernel killing the first process", func() bool { return !alive(t, first) })
	waitFor(t, "an empty rank", func() bool { return b.ranks.Bury(k.r, s) == nil })
	if left, _ := remains(all(), k.r.Nonce, s); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}
