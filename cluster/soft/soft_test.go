package soft

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

func TestTheBoardKeepsTheNewest(t *testing.T) {
	var now time.Duration
	b := NewBoard(func() time.Duration { return now })
	b.Put("n1", []model.Sample{{GPU: "a", Utilization: 1}, {GPU: "b"}})
	now += 3 * time.Second
	b.Put("n2", []model.Sample{{GPU: "c"}})
	b.Put("n1", []model.Sample{{GPU: "a", Utilization: 2}})
	now += time.Second
	got := b.All()
	slices.SortFunc(got, func(x, y Reading) int { return x.Sample.GPU.Compare(y.Sample.GPU) })
	if len(got) != 2 || got[0].Sample.Utilization != 2 || got[0].Age != time.Second || got[1].Sample.GPU != "c" {
		t.Errorf("the board has %+v", got)
	}
	now += Kept + time.Second
	if got := b.All(); len(got) != 0 {
		t.Errorf("long after, it has %+v", got)
	}
	b.Put("n3", nil)
	if len(b.nodes) != 1 {
		t.Errorf("%d nodes are remembered", len(b.nodes))
	}
}

// One registration may have been delayed on its way. An agent that lives repeats its own.
func TestOtherAgents(t *testing.T) {
	now := time.Hour
	b := NewBoard(func() time.Duration { return now })
	shows := func(when, want string) {
		t.Helper()
		if got := b.Refused()["n1"]; got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	shows("none", "")
	b.Refuse("n1", "once")
	shows("once", "")
	now += repeats
	b.Refuse("n1", "again")
	shows("again", "again")
	now += Kept
	shows("after two minutes", "again")
	now++
	shows("later", "")
	b.Refuse("n1", "another day")
	shows("another day", "")
	now += 2 * Kept
	b.Put("n2", nil)
	if len(b.other) != 0 {
		t.Errorf("%d nodes are remembered", len(b.other))
	}
}

// Only a node's recent samples describe the present.
func TestUnused(t *testing.T) {
	now := time.Hour
	b := NewBoard(func() time.Duration { return now })
	b.Put("n1", []model.Sample{{GPU: "a", Unused: time.Minute}, {GPU: "b"}})
	now += 10 * time.Second
	for gpu, want := range map[model.GPUID]time.Duration{"a": time.Minute, "b": 0, "c": 0} {
		if got := b.Unused("n1", gpu); got != want {
			t.Errorf("%s: %s", gpu, got)
		}
	}
	if got := b.Unused("n2", "a"); got != 0 {
		t.Errorf("of a node that has said nothing: %s", got)
	}
	now++
	if got := b.Unused("n1", "a"); got != 0 {
		t.Errorf("of a node that is silent: %s", got)
	}
}

// A load is what a GPU has measured a moment ago, and nothing older; parts of GPUs
// measure none.
func TestBusy(t *testing.T) {
	now := time.Hour
	b := NewBoard(func() time.Duration { return now })
	b.Put("n1", []model.Sample{{GPU: "a", Utilization: 70}, {GPU: "b"}, {GPU: "MIG-c", Utilization: 3}})
	for gpu, want := range map[model.GPUID]struct {
		percent uint32
		known   bool
	}{"a": {70, true}, "b": {0, true}, "MIG-c": {}, "d": {}} {
		if percent, known := b.Busy("n1", gpu); percent != want.percent || known != want.known {
			t.Errorf("%s: %d, %t", gpu, percent, known)
		}
	}
	now += 11 * time.Second
	if percent, known := b.Busy("n1", "a"); known {
		t.Errorf("of a node that is silent: %d", percent)
	}
}

func key(job model.JobID) model.RankKey { return model.RankKey{Job: job, Task: 3, N: 2, Rank: 1} }

func open(t *testing.T, dir string) *Tails {
	t.Helper()
	tails, err := OpenTails(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tails
}

func (t *Tails) has(k model.RankKey, stdout string) bool {
	v, found := t.Get(k)
	return found && string(v.Stdout) == stdout
}

func TestTailsAreKept(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir)
	if err := a.Put(key(1), Tail{Stdout: []byte("out"), Stderr: []byte("err")}); err != nil {
		t.Fatal(err)
	}
	long := append(bytes.Repeat([]byte("x"), MaxTail), "end"...)
	if err := a.Put(key(2), Tail{Stdout: long}); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir) // as after a restart
	if v, found := b.Get(key(1)); !found || string(v.Stdout) != "out" || string(v.Stderr) != "err" {
		t.Errorf("kept %q %q", v.Stdout, v.Stderr)
	}
	if v, _ := b.Get(key(2)); len(v.Stdout) != MaxTail || !bytes.HasSuffix(v.Stdout, []byte("xend")) || len(v.Stderr) > 0 {
		t.Errorf("kept %d bytes", len(v.Stdout))
	}
	if _, found := b.Get(key(3)); found {
		t.Error("found a tail that was never stored")
	}
}

func TestTheOldestTailGoes(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir)
	a.most = 2
	for _, n := range []model.JobID{1, 2, 1, 3} {
		if err := a.Put(key(n), Tail{Stdout: []byte{'0' + byte(n)}}); err != nil {
			t.Fatal(err)
		}
	}
	if !a.has(key(1), "1") || !a.has(key(3), "3") || a.has(key(2), "2") {
		t.Error("not the oldest went")
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("%d files", len(files))
	}
}

// A damaged or foreign file in the folder does no harm.
func TestBrokenTails(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Put(key(1), Tail{Stdout: []byte("out")}); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		nameOf(key(2)): "", nameOf(key(3)): "\x00\x00\x00\x09short", nameOf(key(4)): "\xff\xff\xff\xff", "1-2-3.tail": "x", "../x": "",
		nameOf(key(5)) + unripe: "half", "notes.txt": "mine", "01-3-2-1.tail": "x",
	} {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := open(t, dir)
	for n := model.JobID(2); n <= 5; n++ {
		if v, found := a.Get(key(n)); found {
			t.Errorf("job %d has %+v", n, v)
		}
	}
	if !a.has(key(1), "out") {
		t.Error("the whole one is gone")
	}
	for name, there := range map[string]bool{"notes.txt": true, "1-2-3.tail": false, "01-3-2-1.tail": false, nameOf(key(5)) + unripe: false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A disk that takes nothing causes an error with that text, and leaves no remains.
func TestATailThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir)
	if err := os.Mkdir(filepath.Join(dir, nameOf(key(1))), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := a.Put(key(1), Tail{}); err == nil {
		t.Error("it was kept all the same")
	}
	if len(a.order) != 0 {
		t.Error("it counts as kept")
	}
	if _, err := OpenTails(filepath.Join(dir, nameOf(key(1)), "\x00")); err == nil {
		t.Error("a folder that cannot be")
	}
}
