package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// hanging mounts a file system that answers nothing, below a folder, and returns its path. After cut every use of it fails with
// ENOTCONN, as when the program of such a file system has ended.
func hanging(t *testing.T, below string) (dir string, cut func()) {
	t.Helper()
	dir, err := os.MkdirTemp(below, "hanging-*")
	if err != nil {
		t.Skipf("needs a writable %s: %v", below, err)
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("needs FUSE: %v", err)
	}
	cut = sync.OnceFunc(func() { _ = unix.Close(fd) })
	t.Cleanup(func() {
		cut()
		_ = unix.Unmount(dir, unix.MNT_DETACH)
		_ = unix.Rmdir(dir)
	})
	if err := unix.Mount("hanging", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)); err != nil {
		t.Skipf("needs the right to mount a file system (CAP_SYS_ADMIN): %v", err)
	}
	return dir, cut
}

// A job whose folder or program is in a file system that hangs does not keep its supervisor from its orders, and neither is
// the node's fault.
func TestAJobThatHangsAtItsStartIsKilled(t *testing.T) {
	t.Parallel()
	plainly := newBench(t)
	folder := func(r *runner.Record, dir string) { r.Job.Spec.WorkDir = dir + "/a" }
	program := func(r *runner.Record, path string) { r.Job.Spec.Argv, r.Job.Spec.Command = true, path+"\x00b" }
	for name, v := range map[string]struct {
		account bool
		change  func(r *runner.Record, dir string)
	}{
		"its folder":                   {false, folder},
		"its folder, under an account": {true, func(r *runner.Record, dir string) { ada(r); folder(r, dir) }},
		"its program":                  {false, func(r *runner.Record, dir string) { program(r, dir+"/a") }},
		"a folder of its PATH":         {false, func(r *runner.Record, _ string) { program(r, "a") }},
	} {
		t.Run(name, func(t *testing.T) {
			b, below := plainly, ""
			if v.account {
				b, below = isolated(t, unchanged), "/var/tmp" // a job has a /tmp of its own
			}
			dir, _ := hanging(t, below)
			env := runner.Environment{Job: []byte("PATH=" + dir)}
			k := b.rankWith(env, "true", func(r *runner.Record) { v.change(r, dir) }).start()
			waitFor(t, "the stage", func() bool { return len(leftOf(k.r.Nonce)) > 0 })
			k.order(runner.Orders{Run: true, Kill: true})
			if got := k.exit(); got.Signal != 9 || !got.Fenced || got.Refused {
				t.Errorf("ended with %+v", got)
			}
		})
	}
}

// A job that hangs at its start counts as running after a while, so that its node is not taken for one that starts no jobs.
func TestAJobThatHangsAtItsStartRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the long tests (make test-long): it waits for ten seconds")
	}
	t.Parallel()
	dir, cut := hanging(t, "")
	k := newBench(t).rank("true", func(r *runner.Record) { r.Job.Spec.WorkDir = dir + "/a" }).start()
	k.phase(model.RankRunning)
	cut()
	if got := k.exit(); got.Code != isolate.NotExecuted || got.Refused {
		t.Errorf("ended with %+v", got)
	}
}

// A folder of a job's own that does not answer, or that its user has broken, is the job's failure; a folder of the node's own
// that cannot be written is the node's.
func TestWhoseFaultAFolderIs(t *testing.T) {
	t.Parallel()
	hung, _ := hanging(t, "")
	lost, cut := hanging(t, "")
	cut()
	full := t.TempDir()
	if err := unix.Mount("tmpfs", full, "tmpfs", 0, "size=64k,nr_inodes=2"); err != nil {
		t.Skipf("needs the right to mount a file system (CAP_SYS_ADMIN): %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(full, unix.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	for _, name := range []string{"7", fmt.Sprint(os.Getuid())} {
		if err := os.WriteFile(filepath.Join(broken, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	over := t.TempDir()
	if err := os.Symlink(lost, filepath.Join(over, "1")); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]struct {
		own, place string // the folder that the job names, and the node's place for checkpoints and images
		job        bool
		says       string
	}{
		"its own hangs":                   {own: hung, job: true, says: hung + " does not answer"},
		"its own is lost":                 {own: lost + "/a", job: true, says: lost},
		"a folder in its own is lost":     {own: over, job: true, says: "escapes"},
		"its own is a file":               {own: filepath.Join(broken, "7"), job: true, says: "not a directory"},
		"the place hangs":                 {place: hung, says: "does not answer"},
		"the place is lost":               {place: lost, says: "not connected"},
		"the place is full":               {place: full, says: "no space left"},
		"the place is gone":               {place: filepath.Join(full, "none"), says: "no such file"},
		"its folder in the place is none": {place: broken, job: true, says: "not the job's own folder"},
	} {
		g := &setup{limit: 20 * time.Millisecond}
		p := &place{record: &runner.Record{Rank: model.RankKey{Job: 7, N: 1}}}
		p.record.Job.Spec.CheckpointDir, p.rules.Checkpoints = v.own, v.place
		_, err := g.openStore(context.Background(), p)
		errs := map[string]error{"checkpoints": err}
		if v.own == "" {
			errs["images"] = g.openImages(context.Background(), v.place)
		}
		for of, err := range errs {
			if err == nil || ofNode(err, nil, false) == v.job || !strings.Contains(err.Error(), v.says) {
				t.Errorf("%s: %s: %v", name, of, err)
			}
			if _, denied := errors.AsType[*deniedError](err); denied != v.job {
				t.Errorf("%s: %s: the job may not run here: %v", name, of, denied)
			}
		}
	}
}
