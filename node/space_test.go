package node

//berth:bubble

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/journal"
)

// quarters is a space whose removals are the test's.
type quarters struct {
	*space
	clock   fence.Reading
	aged    []bool        // of the removals so far
	removes chan struct{} // ends a removal
}

func newQuarters(t *testing.T) *quarters {
	t.Helper()
	j, err := journal.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	q := &quarters{clock: fence.Reading{Boot: 1, Real: 1}, removes: make(chan struct{})}
	q.space = newSpace(&core{Config: Config{
		Journal: j, Log: slog.New(slog.DiscardHandler), Disks: []string{"/checkpoints"},
		Clock: func() fence.Reading { return q.clock },
		Clear: func(_ func(model.TaskKey) (bool, error), aged bool) {
			q.aged = append(q.aged, aged)
			<-q.removes
		},
	}, worker: newWorker(t.Context())}, func() {})
	return q
}

// passes has time pass, on both clocks.
func (q *quarters) passes(d time.Duration) {
	time.Sleep(d)
	q.clock.Boot, q.clock.Real = q.clock.Boot.Add(d), q.clock.Real.Add(d)
}

// ends ends the removal under way.
func (q *quarters) ends() {
	q.removes <- struct{}{}
	(<-q.inbox)()
}

func (q *quarters) sees(trouble string) {
	lacking := map[string]bool{"/checkpoints": trouble != ""}
	q.judge(&sight{trouble: trouble, space: trouble != "", lacking: lacking})
}

// A disk without space is no trouble while a removal has just begun, and is one if the removal takes long. Looks go on meanwhile.
func TestALongRemoval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQuarters(t)
		q.sees("full")
		if q.trouble != "" || q.freeing.IsZero() {
			t.Errorf("at once: %q", q.trouble)
		}
		q.passes(spaceHangs + time.Second)
		q.watch() // looks, and so far no look was due
		(<-q.inbox)()
		synctest.Wait()
		if len(q.aged) != 1 {
			t.Errorf("%d removals at a time", len(q.aged))
		}
		q.sees("full")
		if q.trouble != "full" {
			t.Errorf("after %v: %q", spaceHangs+time.Second, q.trouble)
		}
		q.ends()
		if !due(q.next) {
			t.Error("no look after the removal")
		}
		q.sees("")
		if q.trouble != "" || len(q.aged) != 1 {
			t.Errorf("with enough space: %q, %v", q.trouble, q.aged)
		}
	})
}

// What is old is removed after the host's clocks have agreed for an hour: a clock that was wrong when the host started has made all files
// old, or new.
func TestTheClockOfRemovals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQuarters(t)
		for _, jump := range []time.Duration{0, 0, 40 * 24 * time.Hour, 0, -time.Hour, 30 * time.Second, 0} {
			q.clock.Real = q.clock.Real.Add(jump)
			q.sees("")
			q.ends()
			q.passes(clearRare)
		}
		if want := []bool{false, true, false, true, false, true, true}; !slices.Equal(q.aged, want) {
			t.Errorf("what is old was removed: %v, want %v", q.aged, want)
		}
	})
}

// A task lives as long as a rank of it has a folder.
func TestTasksThatLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQuarters(t)
		k := model.RankKey{Job: 7, Task: 3, N: 2}
		dir := filepath.Join(q.Journal.Dir(), "attempts", "01020304-7-3-2-r0")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for task, want := range map[model.TaskKey]bool{k.Attempt().TaskKey(): true, {Job: 7}: false, {Job: 3, Task: 7}: false} {
			if live, err := q.lives(task); live != want || err != nil {
				t.Errorf("%s: %v, %v", task, live, err)
			}
		}
		if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
			t.Fatal(err)
		}
		if live, err := q.lives(model.TaskKey{Job: 9}); !live || err == nil {
			t.Errorf("without knowledge of the ranks: %v, %v", live, err)
		}
	})
}
