package archive

import (
	"bytes"
	"errors"
	"io/fs"
	"reflect"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Records and histories that all peers lack, and all are looking for, are lost as well.
func TestWhatAllLookForIsLost(t *testing.T) {
	r := newRig(t, "p1", "p2", "p3")
	gone := r.end()
	r.do(&command.Retire{Jobs: []model.JobID{gone}, ArchivedTo: r.s.Index})
	for _, a := range r.archives {
		a.queue.take()
	}
	for range 3 {
		r.settle("p1", "p2", "p3")
	}
	for _, id := range []model.PeerID{"p1", "p2", "p3"} {
		if s := r.archives[id].Standing(); s.Lost != r.s.Settings().Audit.Seq || s.Missing != 0 || s.CompleteTo != r.s.Index {
			t.Errorf("%s stands at %+v", id, s)
		}
	}
}

// A peer that does not know the members yet calls nothing lost.
func TestNothingIsLostBeforeTheMembersAreKnown(t *testing.T) {
	r := newRig(t, "p1", "p2")
	r.end("p1")
	r.settle("p2")
	r.alone = true
	if s := r.settle("p1"); s.Lost != 0 || s.CompleteTo != 0 {
		t.Errorf("without members p1 stands at %+v", s)
	}
	r.alone = false
	r.settle("p1")
	r.whole("p1")
}

// Where a filled hole shows that the records below are of another past, holes among
// these are gone with them.
func TestHolesOfAnotherPast(t *testing.T) {
	r := newRig(t, "p1", "p2")
	for range 5 {
		r.end()
	}
	r.settle("p1", "p2")
	r.change("p1", 3, func(d []byte) []byte { return bytes.Replace(d, []byte("user:ann"), []byte("user:bob"), 1) }, true)
	if err := r.archives["p1"].vault.update(func(p *page) error {
		e, _ := p.at(5)
		return errors.Join(p.setHole(hole{first: 5, last: 5, hash: e.hash}), p.tx.Bucket(bucketRecords).Delete(keyOf(5)))
	}); err != nil {
		t.Fatal(err)
	}
	r.end("p1")
	r.end()
	for range 3 {
		r.settle("p2", "p1")
	}
	r.whole("p1")
}

// A hole that reaches beyond the requested head is no sign of tampering.
func TestVerifyUpToWithinAHole(t *testing.T) {
	r := newRig(t, "p1")
	r.end()
	r.settle("p1")
	r.end("p1")
	head := r.s.Settings().Audit
	r.end("p1")
	a := r.archives["p1"]
	if err := a.write(&r.s); err != nil {
		t.Fatal(err)
	}
	if v, err := a.Verify(t.Context(), head); err != nil || v != (Verdict{Records: 3, Missing: 2}) {
		t.Errorf("up to a head within a hole: %+v %v", v, err)
	}
}

// While a disk fails only so many old states are held for the histories of jobs that
// have left them; their records are kept all the same.
func TestStatesThatAreHeld(t *testing.T) {
	r := newRig(t, "p1")
	var gone []model.JobID
	for range maxHeld + 5 {
		id := r.end()
		r.do(&command.Retire{Jobs: []model.JobID{id}, ArchivedTo: r.s.Index})
		gone = append(gone, id)
	}
	held := 0
	for _, n := range r.archives["p1"].queue.list {
		if n.before.Index > 0 {
			held++
		}
	}
	if held != maxHeld {
		t.Errorf("%d states are held, want %d of %d", held, maxHeld, len(gone))
	}
	r.settle("p1")
	r.whole("p1")
}

// A history that is larger than an answer is taken in pieces.
func TestALargeHistory(t *testing.T) {
	r := newRig(t, "p1", "p2")
	gone := []model.JobID{r.end("p1"), r.end("p1"), r.end("p1")}
	large := r.s.Histories(gone[1])[0]
	for n := range uint32(30_000) {
		large.Events = append(large.Events, model.Event{Key: model.EventKey{Job: gone[1], Seq: 100 + n}, At: model.Time(1e18)})
	}
	data, err := large.Encode()
	if err != nil || len(data) < 2*maxGiven {
		t.Fatalf("it has %d bytes: %v", len(data), err)
	}
	r.do(&command.Retire{Jobs: gone, ArchivedTo: r.s.Index}, "p1")
	r.settle("p2")
	if err := r.archives["p2"].vault.update(func(p *page) error {
		return shelf{p}.putHistory(HistoryKey{Index: large.Job.EndIndex, Job: gone[1]}, data)
	}); err != nil {
		t.Fatal(err)
	}
	given, err := r.archives["p2"].Histories(HistoriesWanted{After: HistoryKey{Index: large.Job.EndIndex}, To: r.s.Settings().ArchivedTo})
	if err != nil || len(given.Data) != 1 || len(given.Data[0])+int(given.Rest) != len(data) || given.Rest == 0 {
		t.Fatalf("an answer holds %d histories, %d bytes of the last are left: %v", len(given.Data), given.Rest, err)
	}
	r.settle("p1")
	r.whole("p1")
	for _, id := range gone {
		a, _, _ := r.archives["p1"].Past(id, 0)
		if b, found, err := r.archives["p2"].Past(id, 0); err != nil || !found || !reflect.DeepEqual(a.Histories(id), b.Histories(id)) {
			t.Errorf("job %s is not the same here and there: %v", id, err)
		}
	}
}

// A file that cannot be opened is not damaged, and stays where it is.
func TestAFileThatCannotBeOpened(t *testing.T) {
	r := newRig(t, "p1")
	r.end()
	r.settle("p1")
	a := r.archives["p1"]
	a.vault.close()
	a = r.open("p1", a.cfg.Path)
	a.vault.verify = func(path string) error { return &fs.PathError{Op: "open", Path: path, Err: syscall.EMFILE} }
	if s := r.settle("p1"); s.Failure == "" {
		t.Errorf("it stands at %+v", s)
	}
	a.vault.verify = verifyMagic
	r.settle("p1")
	r.whole("p1")
}
