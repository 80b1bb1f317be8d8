package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/node/runner"
)

// watchman notes which groups it is asked to keep from which GPUs' devices.
type watchman struct {
	impossible, fails error
	groups            []string
	gpus              [][]string
}

func (w *watchman) Possible(string) error { return w.impossible }

func (w *watchman) Confine(group string, gpus []string) error {
	if entries, err := os.ReadDir(group); err != nil || len(entries) == 0 {
		return errors.New("there is no group")
	}
	w.groups, w.gpus = append(w.groups, group), append(w.gpus, gpus)
	return w.fails
}

// guarded returns a bench whose ranks are kept from devices by w.
func guarded(t *testing.T, w *watchman) *bench {
	t.Helper()
	b := grouped(t)
	b.ranks.Close()
	b.guard = w
	b.open()
	return b
}

func holdsTwo(r *runner.Record) { r.GPUs = []runner.GPU{{ID: "GPU-a"}, {ID: "GPU-b", Index: 1}} }

// The group in which a rank's job runs was kept from devices before, by its GPUs.
func TestConfined(t *testing.T) {
	w := &watchman{}
	b := guarded(t, w)
	if strings.Contains(b.ranks.Host().String(), "GPUs of others") {
		t.Errorf("%s", b.ranks.Host())
	}
	k := b.rank("cat /proc/self/cgroup", holdsTwo).start()
	if got := k.exit(); got.Code != 0 || got.Signal != 0 {
		t.Fatalf("ended with %+v", got)
	}
	if len(w.groups) != 1 || !slices.Equal(w.gpus[0], []string{"GPU-a", "GPU-b"}) {
		t.Fatalf("%v, %v", w.groups, w.gpus)
	}
	if out := k.output(runner.StdoutFile); !strings.Contains(out, filepath.Base(b.ranks.groups)+"/"+filepath.Base(w.groups[0])+"\n") {
		t.Errorf("%s was confined, and it ran in %s", w.groups[0], out)
	}
}

// A rank that cannot be kept from devices does not start, and leaves no group.
func TestNotConfined(t *testing.T) {
	w := &watchman{fails: errors.New("no such luck")}
	b := guarded(t, w)
	k := b.rank("true", holdsTwo)
	if err := b.ranks.Start(k.f, k.r); err == nil || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("it starts: %v", err)
	}
	if _, err := os.Stat(w.groups[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its group: %v", err)
	}
}

// A group that was removed in between is not made again: nothing would keep it from
// devices.
func TestConfinedGroupIsGone(t *testing.T) {
	b := guarded(t, &watchman{})
	l, err := readRules(b.run)
	if err != nil || !l.Guarded {
		t.Fatalf("%+v, %v", l, err)
	}
	k := b.rank("true", holdsTwo)
	if g, err := l.group(k.f.Name(), k.r); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%+v, %v", g, err)
	}
}

// Where devices cannot be denied, the host reports why, and ranks run without a guard.
func TestNoGuard(t *testing.T) {
	w := &watchman{impossible: errors.New("bpf: not here")}
	b := guarded(t, w)
	text := b.ranks.Host().String()
	if !strings.Contains(text, "devices are not denied: bpf: not here") || !strings.Contains(text, "reach the GPUs of others") {
		t.Error(text)
	}
	if got := b.rank("true", holdsTwo).start().exit(); got.Code != 0 || got.Signal != 0 || len(w.groups) > 0 {
		t.Errorf("%+v, %v", got, w.groups)
	}
	b.ranks.Close()
	b.kernel = t.TempDir()
	b.guard = &watchman{}
	b.open()
	if text := b.ranks.Host().String(); !strings.Contains(text, "devices are not denied: ranks have no cgroups") {
		t.Error(text)
	}
}
