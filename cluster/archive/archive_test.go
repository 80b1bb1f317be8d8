package archive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// All that is noted is found again, newest first, page by page and by every filter.
func TestRecordsAreFound(t *testing.T) {
	r := newRig(t, "p1")
	for range 5 {
		r.end()
	}
	r.do(&command.Hold{Job: 99, Task: model.AllTasks})
	r.settle("p1")
	r.whole("p1")
	a := r.archives["p1"]
	count := func(f Filter) (n int) {
		t.Helper()
		for last := ^uint64(0); ; {
			found, err := a.Find(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range found.Records {
				if one.Seq >= last {
					t.Errorf("%d comes after %d", one.Seq, last)
				}
				last = one.Seq
			}
			n += len(found.Records)
			if f.Before = found.Next; f.Before == 0 {
				return n
			}
		}
	}
	for name, c := range map[string]struct {
		f    Filter
		want int
	}{
		"all":      {Filter{Limit: 3}, 12},
		"actor":    {Filter{Limit: 3, Actor: "ann"}, 12},
		"whole":    {Filter{Limit: 3, Actor: "user:ann"}, 12},
		"no match": {Filter{Limit: 3, Actor: "bob"}, 0},
		"target":   {Filter{Limit: 1, Target: "job 3"}, 2},
		"action":   {Filter{Limit: 100, Kind: "cancel"}, 5},
		"refused":  {Filter{Limit: 100, Result: "refused"}, 1},
		"code":     {Filter{Limit: 100, Result: "not_found"}, 1},
		"ok":       {Filter{Limit: 2, Result: "ok"}, 11},
		"since":    {Filter{Limit: 2, Since: 11e9}, 2},
		"until":    {Filter{Limit: 2, Until: 2e9}, 2},
		"together": {Filter{Limit: 2, Kind: "submit", Since: 3e9, Until: 6e9}, 2},
	} {
		if got := count(c.f); got != c.want {
			t.Errorf("%s: %d records, want %d", name, got, c.want)
		}
	}
}

// What is noted again after a restart changes nothing; what is missing before it is
// taken from another peer, and only if it is the trail's.
func TestGapsAreFilledFromOthers(t *testing.T) {
	r := newRig(t, "p1", "p2", "p3")
	r.end()
	for range 20 {
		r.end("p1") // p1 misses these, as after the installation of a snapshot
	}
	if s := r.settle("p1"); s.CompleteTo != 0 || s.Missing != 40 || s.Seq != r.s.Settings().Audit.Seq {
		t.Errorf("with others that have written nothing p1 stands at %+v", s)
	}
	r.settle("p2", "p3")
	r.change("p2", 30, func(d []byte) []byte { d[len(d)-3] ^= 1; return d }, true)
	r.dead["p3"] = true
	if s := r.settle("p1"); s.CompleteTo != 0 || s.Missing == 0 || s.Lost != 0 {
		t.Errorf("with forged records to be had p1 stands at %+v", s)
	}
	r.dead["p3"] = false
	r.settle("p1")
	r.whole("p1")
	r.whole("p3")
	r.end()
	r.settle("p1")
	r.whole("p1")
}

// A record that was changed is named, with or without the hashes after it.
func TestTamperingIsNamed(t *testing.T) {
	r := newRig(t, "p1", "p2", "p3")
	for range 10 {
		r.end()
	}
	r.settle("p1", "p2", "p3")
	edit := func(d []byte) []byte { return bytes.Replace(d, []byte("user:ann"), []byte("user:bob"), 1) }
	r.change("p1", 7, edit, false)
	r.change("p2", 12, edit, true)
	for id, want := range map[model.PeerID]uint64{"p1": 7, "p2": 12, "p3": 0} {
		v, err := r.archives[id].Verify(t.Context(), r.s.Settings().Audit)
		if err != nil || v.Bad != want || (v.What == "") != (want == 0) {
			t.Errorf("%s: %+v %v, want record %d", id, v, err, want)
		}
	}
}

// A disk that takes nothing loses nothing: records wait, the archive reports the failure, and is complete
// again afterwards.
func TestAFullDisk(t *testing.T) {
	r := newRig(t, "p1")
	r.end()
	r.settle("p1")
	a := r.archives["p1"]
	a.vault.fail = errors.New("no space left on device")
	before := a.Standing()
	for range 10 {
		r.end()
	}
	if s := r.settle("p1"); s.Failure == "" || s.CompleteTo != before.CompleteTo {
		t.Errorf("while its disk is full the archive stands at %+v", s)
	}
	r.end()
	a.vault.fail = nil
	r.settle("p1")
	r.whole("p1")
	if s := a.Standing(); s.Failure != "" {
		t.Errorf("afterwards it stands at %+v", s)
	}
}

// What no longer fits into memory is given up, and taken from others later.
func TestAQueueThatIsFull(t *testing.T) {
	r := newRig(t, "p1", "p2")
	r.end()
	a := r.archives["p1"]
	a.queue.size = maxQueued
	r.end()
	if n := len(a.queue.list); n != 2 {
		t.Errorf("%d entries wait, want the two since", n)
	}
	r.settle("p2", "p1")
	r.whole("p1")
}

// A truncated or corrupted file is set aside, and rebuilt from other peers.
func TestADamagedFile(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"cut off": func(path string) error { return os.Truncate(path, 5000) },
		"no file of its kind": func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("rubbish "), 4000), 0o600)
		},
		"deleted": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "p1", "p2")
			gone := r.end()
			r.settle("p1", "p2")
			r.do(&command.Retire{Jobs: []model.JobID{gone}, ArchivedTo: r.s.Index})
			r.settle("p1", "p2")
			a := r.archives["p1"]
			a.vault.close()
			if err := damage(a.cfg.Path); err != nil {
				t.Fatal(err)
			}
			a = r.open("p1", a.cfg.Path)
			r.settle("p1")
			r.whole("p1")
			if _, found, err := a.Past(gone, 0); !found || err != nil {
				t.Errorf("the job that has left the state is not there: %v", err)
			}
			if _, err := os.Stat(a.cfg.Path + ".damaged-1"); (err == nil) == (name == "deleted") {
				t.Errorf("the damaged file: %v", err)
			}
		})
	}
}

// The history of a job is kept at its end and as it leaves, with what came between.
func TestHistoriesAreKept(t *testing.T) {
	r := newRig(t, "p1")
	a := r.archives["p1"]
	id := r.end()
	waits := r.do(statetest.Job(1)).Job
	r.settle("p1")
	if s, found, err := a.Past(id, 0); err != nil || !found || s.Jobs.Len() != 1 || s.Events.Len() < 2 {
		t.Fatalf("what is kept of a job that has ended: %v %v", found, err)
	}
	if _, found, _ := a.Past(waits, 0); found {
		t.Error("a job that waits is kept")
	}
	many := r.do(statetest.Job(1, func(b *command.Submit) { b.Tasks = state.HistoryTasks + 5 })).Job
	r.do(&command.Cancel{Job: many, Task: model.AllTasks})
	if res := r.do(&command.Retire{Jobs: []model.JobID{id, many}, ArchivedTo: r.s.Index}); !res.OK() {
		t.Fatal(res.Detail)
	}
	r.settle("p1")
	r.whole("p1")
	for _, task := range []uint32{0, state.HistoryTasks + 4} {
		s, found, err := a.Past(many, task)
		if err != nil || !found || !s.Tasks.Has(model.TaskKey{Job: many, Task: task}) || !s.Tasks.Has(model.TaskKey{Job: many}) {
			t.Errorf("task %d of a large array: %v %v", task, found, err)
		}
	}
}

// Records and histories that no peer has are lost: the archive reports that, and goes on.
func TestWhatNobodyHasIsLost(t *testing.T) {
	r := newRig(t, "p1", "p2")
	gone := r.end()
	r.do(&command.Retire{Jobs: []model.JobID{gone}, ArchivedTo: r.s.Index})
	for _, id := range []model.PeerID{"p1", "p2"} {
		r.archives[id].queue.take()
	}
	r.dead["p2"] = true
	if s := r.settle("p1"); s.Lost != 0 || s.CompleteTo != 0 {
		t.Errorf("while p2 is silent p1 stands at %+v", s)
	}
	r.dead["p2"] = false
	delete(r.archives, "p2")
	s := r.settle("p1")
	if s.Lost != r.s.Settings().Audit.Seq || s.Missing != 0 || s.CompleteTo != r.s.Index {
		t.Errorf("alone p1 stands at %+v", s)
	}
	r.end()
	r.settle("p1")
	v, err := r.archives["p1"].Verify(t.Context(), r.s.Settings().Audit)
	if err != nil || v.Missing != s.Lost || v.Records != 2 || v.Bad != 0 {
		t.Errorf("looked through: %+v %v", v, err)
	}
}

// After a restore to an older state the trail goes on from there; what was after it
// is kept apart.
func TestAnotherPast(t *testing.T) {
	r := newRig(t, "p1")
	r.end()
	old := r.s
	r.end()
	r.settle("p1")
	r.s = old
	r.do(&command.SetPolicy{Policy: "priority"})
	r.do(&command.SetRunning{})
	r.settle("p1")
	head := r.s.Settings().Audit
	if v, err := r.archives["p1"].Verify(t.Context(), head); err != nil || v != (Verdict{Records: head.Seq}) {
		t.Errorf("the trail: %+v %v", v, err)
	}
	aside := 0
	if err := r.archives["p1"].vault.view(func(p *page) error {
		return p.tx.Bucket(bucketAside).ForEach(func(_, _ []byte) error { aside++; return nil })
	}); err != nil || aside != 2 {
		t.Errorf("%d records are kept apart: %v", aside, err)
	}
}

// What waits is written when the archive ends, and a second start goes on.
func TestTheArchiveEnds(t *testing.T) {
	r := newRig(t, "p1")
	r.end()
	path := r.archives["p1"].cfg.Path
	end(r.archives["p1"])
	if _, err := r.archives["p1"].Find(Filter{Limit: 1}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("an archive that has ended answers %v", err)
	}
	r.open("p1", path)
	r.settle("p1")
	r.whole("p1")
	if filepath.Base(path) != "archive.db" {
		t.Errorf("the file is %s", path)
	}
}
