package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/test/sim/simdisk"
)

// A peer whose disk was put back to an earlier state has forgotten what it had acknowledged. A peer that still has those entries keeps
// them, and says so, in place of following a leader without them: also after a crash, when it knows what its disk tells only.
func TestAcknowledgedEntriesAreNotCutOff(t *testing.T) {
	for name, v := range map[string]struct {
		jobs  int // acknowledged by the former leader and the peer whose disk is put back
		away  func(w *world, l *member)
		again func(w *world, l *member)
	}{
		"the leader is cut off": {5, func(w *world, l *member) { w.net.Isolate(l.name) }, func(w *world, _ *member) { w.net.HealAll() }},
		"the leader crashes":    {5, (*world).crash, (*world).start},
		"the leader crashes some seconds after its only entry": {
			1, func(w *world, l *member) {
				w.until("the index is stored by itself", func() bool { return l.committed.kept.Load() >= l.State().Index })
				w.crash(l)
			}, (*world).start,
		},
		"the leader is stopped": {1, func(w *world, l *member) {
			l.saveCommitted()
			w.crash(l)
		}, (*world).start},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, nil, func(w *world) { testNotCutOff(w, v.jobs, v.away, v.again) })
		})
	}
}

// Followers learn of a commit though no entries follow, long before raft itself would tell them; so does one that comes back later.
func TestFollowersLearnOfACommitAtOnce(t *testing.T) {
	inWorld(t, 3, func(m *member) { m.tuning.CommitTimeout = time.Hour }, func(w *world) {
		l, n := w.leader(), 0
		for range 3 {
			w.mustPropose(l, 1)
			n++
			w.until("all have the job", func() bool {
				return !slices.ContainsFunc(w.peers, func(m *member) bool { s := m.State(); return s.Jobs.Len() < n })
			})
		}
		away := w.other(l)
		w.net.Isolate(away.name)
		w.mustPropose(l, 1)
		w.net.HealAll()
		w.mustPropose(w.leader(), 1)
		w.until("the one that was away has all jobs", func() bool { s := away.State(); return s.Jobs.Len() == n+2 })
	})
}

func testNotCutOff(w *world, jobs int, away, again func(w *world, l *member)) {
	w.t.Helper()
	l := w.leader()
	var others []*member
	for _, m := range w.peers {
		if m != l {
			others = append(others, m)
		}
	}
	back, down := others[0], others[1]
	have := func(m *member, n int) bool { s := m.State(); return s.Jobs.Len() == n }
	w.mustPropose(l, 5)
	w.until("all have the first jobs", func() bool { return have(back, 5) && have(down, 5) })
	w.crash(down)
	early := back.disk.Clone()
	for range jobs {
		w.mustPropose(l, 1)
	}
	w.until("two have all jobs", func() bool { return have(back, 5+jobs) && have(l, 5+jobs) })
	away(w, l)
	w.crash(back)
	back.disk = early
	w.start(back)
	w.start(down)
	w.until("the two elect without the entries", func() bool { return back.leads() || down.leads() })
	next := back
	if down.leads() {
		next = down
	}
	w.mustPropose(next, 3)
	again(w, l)
	var got error
	w.until("the former leader halts", func() bool {
		select {
		case got = <-l.halted:
			return true
		default:
			return false
		}
	})
	if !strings.Contains(got.Error(), "put back to an earlier state") || !strings.Contains(got.Error(), "berth cluster recover") {
		w.t.Errorf("%v", got)
	}
	l.Kill()
	last, err := l.stores(l.disk.Open()).Log.LastIndex()
	if s := l.State(); err != nil || last < s.Index {
		w.t.Errorf("the peer has a state of %d, and its log ends at %d: %v", s.Index, last, err)
	}
}

// What is known as committed is kept when the entries that had it as their mark are cut off.
func TestMarksOutliveTheirEntries(t *testing.T) {
	t.Parallel()
	h := simdisk.New(1).Open()
	stable, now := raftstore.SealStable(h.Stable(), "p1"), uint64(0)
	logs := raftstore.SealLogs(h.Logs(), "p1")
	marks, is := logs.(raftstore.Marked)
	if !is {
		t.Fatal("the log has no marks")
	}
	l := &committedLogs{LogStore: logs, where: "p1", marks: marks, stable: stable, now: func() uint64 { return now }}
	for i := range uint64(10) {
		now = min(i, 7)
		if err := l.StoreLog(&raft.Log{Index: i + 1, Term: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.DeleteRange(9, 10); err != nil {
		t.Error(err)
	}
	if kept, err := stable.GetUint64([]byte(raftstore.KeyCommitted)); kept != 7 || err != nil {
		t.Errorf("%d is kept, want 7: %v", kept, err)
	}
	if err := l.DeleteRange(7, 8); err == nil || !strings.Contains(err.Error(), "lacks entries 7 to 7") {
		t.Errorf("an entry that is committed: %v", err)
	}
	if err := l.DeleteRange(1, 8); err != nil { // those that a snapshot has
		t.Error(err)
	}
}
