//berth:bubble

package cluster

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// keeping gives a member an archive in a folder.
func keeping(m *member, dir string) {
	m.archive = archive.New(archive.Config{
		Path: filepath.Join(dir, m.name, "archive.db"), Log: slog.New(slog.DiscardHandler), Verify: raftstore.VerifyBolt,
	})
}

// ended submits jobs and cancels them.
func (w *world) ended(n int) {
	w.t.Helper()
	l := w.leader()
	for range n {
		r, _, err := l.Propose(within(10*time.Second), submit("a"))
		if err != nil {
			w.t.Fatal(err)
		}
		c, err := command.New("user:ann", &command.Cancel{Job: r[0].Job, Task: model.AllTasks})
		if err != nil {
			w.t.Fatal(err)
		}
		if _, _, err := l.Propose(within(10*time.Second), c); err != nil {
			w.t.Fatal(err)
		}
	}
}

// keeps waits until a member's archive holds the whole trail of its state.
func (w *world) keeps(m *member) {
	w.t.Helper()
	what := ""
	defer func() {
		if w.t.Failed() {
			w.t.Log(m.name, what)
		}
	}()
	w.until("the archive of "+m.name+" is whole", func() bool {
		s := m.State()
		head := s.Settings().Audit
		v, err := m.archive.Verify(w.t.Context(), head)
		what = fmt.Sprintf("%+v %v, standing %+v", v, err, m.archive.Standing())
		return err == nil && head.Seq > 0 && v == archive.Verdict{Records: head.Seq} && m.archive.Standing().CompleteTo >= head.Index
	})
}

// All peers keep the same trail; one that was down, or joins again, gets what it lacks, and the histories of
// jobs that left the state meanwhile.
func TestPeersKeepOneTrail(t *testing.T) {
	dir := t.TempDir()
	retained := Tuning{SnapshotThreshold: 64, SnapshotInterval: time.Second, TrailingLogs: 16}
	retained.Founding.Retention = model.Retention{Jobs: 3, Age: time.Hour}
	change := func(m *member) {
		keeping(m, dir)
		m.tuning, m.tests.ShortLogs = retained, true
	}
	inWorld(t, 3, change, func(w *world) {
		w.ended(5)
		for _, m := range w.peers {
			w.keeps(m)
		}
		away := w.other(w.leader())
		w.crash(away)
		w.ended(150)
		w.until("jobs leave the state", func() bool { s := w.leader().State(); return s.Ended.Len() == 3 })
		keeping(away, dir)
		w.start(away)
		w.keeps(away)
		fourth := w.add("p4")
		change(fourth)
		w.start(fourth)
		if err := fourth.Join(within(10*time.Second), []string{"p1:7000", "p2:7000", "p3:7000"}); err != nil {
			t.Fatal(err)
		}
		for _, m := range []*member{away, fourth} {
			w.keeps(m)
			w.until(m.name+" has the history of every job", func() bool {
				for id := model.JobID(1); id <= 155; id++ {
					if _, found, err := m.archive.Past(id, 0); !found || err != nil {
						return false
					}
				}
				return true
			})
		}
	})
}

// Jobs leave the state only once a majority of the peers keep their history.
func TestJobsWaitForTheArchives(t *testing.T) {
	dir := t.TempDir()
	change := func(m *member) {
		if m.tuning.Founding.Retention = (model.Retention{Jobs: 2, Age: time.Hour}); m.name == "p1" {
			keeping(m, dir)
		}
	}
	inWorld(t, 3, change, func(w *world) {
		w.ended(10)
		w.keeps(w.peers[0])
		time.Sleep(30 * time.Second)
		if s := w.leader().State(); s.Ended.Len() != 10 {
			t.Fatalf("with one archive of three, %d of 10 jobs are left in the state", s.Ended.Len())
		}
		second := w.peers[1]
		w.crash(second)
		keeping(second, dir)
		w.start(second)
		w.until("jobs leave the state with two", func() bool {
			s := w.leader().State()
			return s.Ended.Len() == 2 && s.Jobs.Len() == 2
		})
	})
}
