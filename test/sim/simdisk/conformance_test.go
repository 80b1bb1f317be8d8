package simdisk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/test/sim/simdisk"
)

// stores are what raft gets of a disk, real or simulated.
type stores interface {
	Logs() raft.LogStore
	Stable() raft.StableStore
	Snapshots() raft.SnapshotStore
}

// both runs a test on a real folder and on a simulated disk: what one does, the
// other has to do.
func both(t *testing.T, test func(t *testing.T, s stores)) {
	t.Run("real", func(t *testing.T) {
		s, err := raftstore.Open(raftstore.Options{Dir: t.TempDir(), MinFree: 1, Ballast: -1})
		check(t, err)
		defer func() { check(t, s.Close()) }()
		test(t, s)
	})
	t.Run("simulated", func(t *testing.T) { test(t, sealed{simdisk.New(1).Open()}) })
	t.Run("simulated, killed", func(t *testing.T) {
		h := simdisk.New(1).Open()
		h.Kill()
		test(t, sealed{h})
	})
}

// sealed is a simulated disk with the checksums that a folder keeps.
type sealed struct{ *simdisk.Handle }

func (s sealed) Logs() raft.LogStore      { return raftstore.SealLogs(s.Handle.Logs(), "") }
func (s sealed) Stable() raft.StableStore { return raftstore.SealStable(s.Handle.Stable(), "") }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// entries returns the log entries from..to.
func entries(term, from, to uint64) []*raft.Log {
	var logs []*raft.Log
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: fmt.Appendf(nil, "%d/%d", term, i)})
	}
	return logs
}

// wantRange checks the first and last index of a log.
func wantRange(t *testing.T, l raft.LogStore, first, last uint64) {
	t.Helper()
	f, err := l.FirstIndex()
	check(t, err)
	e, err := l.LastIndex()
	check(t, err)
	if f != first || e != last {
		t.Fatalf("the log is %d..%d, want %d..%d", f, e, first, last)
	}
}

// wantEntry checks that an index holds the entry of a term, or none for term 0.
func wantEntry(t *testing.T, l raft.LogStore, index, term uint64) {
	t.Helper()
	var got raft.Log
	err := l.GetLog(index, &got)
	if term == 0 {
		if err != raft.ErrLogNotFound { //nolint:errorlint // raft compares so
			t.Fatalf("entry %d: %v, want ErrLogNotFound itself", index, err)
		}
		return
	}
	check(t, err)
	if want := fmt.Sprintf("%d/%d", term, index); got.Index != index || got.Term != term || string(got.Data) != want {
		t.Fatalf("entry %d is %+v, want %s", index, got, want)
	}
}

func TestLog(t *testing.T) {
	both(t, func(t *testing.T, s stores) {
		l := s.Logs()
		wantRange(t, l, 0, 0)
		wantEntry(t, l, 1, 0)
		check(t, l.StoreLogs(nil))
		check(t, l.DeleteRange(1, 100))
		wantRange(t, l, 0, 0)

		check(t, l.StoreLogs(entries(1, 1, 50)))
		check(t, l.StoreLog(entries(1, 51, 51)[0]))
		wantRange(t, l, 1, 51)
		check(t, l.StoreLogs(entries(2, 40, 45))) // raft overwrites only after a cut, the store allows it
		wantEntry(t, l, 39, 1)
		wantEntry(t, l, 40, 2)
		wantEntry(t, l, 45, 2)
		wantEntry(t, l, 46, 1)

		check(t, l.DeleteRange(1, 10)) // compaction
		wantRange(t, l, 11, 51)
		wantEntry(t, l, 10, 0)
		check(t, l.DeleteRange(45, 60)) // a conflicting suffix
		wantRange(t, l, 11, 44)
		check(t, l.DeleteRange(30, 20)) // an empty range
		check(t, l.DeleteRange(1, 5))   // nothing there
		wantRange(t, l, 11, 44)

		check(t, l.StoreLogs(entries(3, 100, 102))) // a gap, as after an installed snapshot
		wantRange(t, l, 11, 102)
		wantEntry(t, l, 70, 0)
		check(t, l.DeleteRange(20, 100))
		wantRange(t, l, 11, 102)
		wantEntry(t, l, 19, 1)
		wantEntry(t, l, 20, 0)
		wantEntry(t, l, 101, 3)
		check(t, l.DeleteRange(0, 1<<62))
		wantRange(t, l, 0, 0)
	})
}

func TestLogKeepsEveryField(t *testing.T) {
	both(t, func(t *testing.T, s stores) {
		in := raft.Log{
			Index: 7, Term: 3, Type: raft.LogConfiguration, Data: []byte("data"),
			AppendedAt: time.Unix(1000, 5),
		}
		check(t, s.Logs().StoreLog(&in))
		in.Data[0], in.Extensions[0] = 'X', 'X' // the store holds its own copy
		var out raft.Log
		check(t, s.Logs().GetLog(7, &out))
		if out.Term != 3 || out.Type != raft.LogConfiguration || string(out.Data) != "data" ||
			raftstore.CheckSeal(&out) != nil || !out.AppendedAt.Equal(time.Unix(1000, 5)) {
			t.Errorf("read back %+v", out)
		}
		out.Data[0] = 'Y'
		check(t, s.Logs().GetLog(7, &out))
		if string(out.Data) != "data" {
			t.Errorf("a reader changed the store: %s", out.Data)
		}
	})
}

// TestRandomLogs compares both kinds of store with each other.
func TestRandomLogs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	realStore, err := raftstore.Open(raftstore.Options{Dir: t.TempDir(), MinFree: 1, Ballast: -1})
	check(t, err)
	defer func() { check(t, realStore.Close()) }()
	pair := []raft.LogStore{realStore.Logs(), simdisk.New(1).Open().Logs()}
	for step := range 150 {
		from := rng.Uint64N(60) + 1
		to := from + rng.Uint64N(30)
		var seen [2]string
		for i, l := range pair {
			if step%3 == 2 {
				check(t, l.DeleteRange(from, to))
			} else {
				check(t, l.StoreLogs(entries(uint64(step), from, to)))
			}
			seen[i] = describe(t, l)
		}
		if seen[0] != seen[1] {
			t.Fatalf("step %d, %d..%d:\nreal      %s\nsimulated %s", step, from, to, seen[0], seen[1])
		}
	}
}

// describe writes out a whole log.
func describe(t *testing.T, l raft.LogStore) string {
	t.Helper()
	first, err := l.FirstIndex()
	check(t, err)
	last, err := l.LastIndex()
	check(t, err)
	out := fmt.Sprintf("%d..%d:", first, last)
	for i := first; i <= last; i++ {
		var e raft.Log
		if err := l.GetLog(i, &e); err == nil {
			out += fmt.Sprintf(" %d=%d", i, e.Term)
		}
	}
	return out
}

func TestStable(t *testing.T) {
	both(t, func(t *testing.T, s stores) {
		k := s.Stable()
		for _, err := range []error{second(k.Get([]byte("a"))), second(k.GetUint64([]byte("a")))} {
			if err == nil || err.Error() != "not found" {
				t.Errorf("a missing key gave %v; raft knows this error by its text", err)
			}
		}
		val := []byte("1")
		check(t, k.Set([]byte("a"), val))
		val[0] = '2'
		if got, err := k.Get([]byte("a")); err != nil || string(got) != "1" {
			t.Errorf("a = %q, %v", got, err)
		}
		check(t, k.SetUint64([]byte("a"), 1<<63))
		if got, err := k.GetUint64([]byte("a")); err != nil || got != 1<<63 {
			t.Errorf("a = %d, %v", got, err)
		}
		if got, err := k.Get([]byte("a")); err != nil || !bytes.Equal(got, []byte{0x80, 0, 0, 0, 0, 0, 0, 0}) {
			t.Errorf("numbers and bytes are not one key space: %v, %v", got, err)
		}
		check(t, k.Set([]byte("empty"), nil))
		if got, err := k.Get([]byte("empty")); err != nil || len(got) != 0 {
			t.Errorf("an empty value came back as %v, %v", got, err)
		}
		if k.Set(nil, []byte("x")) == nil {
			t.Error("an empty key was taken")
		}
	})
}

func second[T any](_ T, err error) error { return err }

// begin starts a snapshot with a body.
func begin(t *testing.T, s raft.SnapshotStore, term, index uint64, body string) raft.SnapshotSink {
	t.Helper()
	_, trans := raft.NewInmemTransport("")
	conf := raft.Configuration{Servers: []raft.Server{{ID: "p1", Address: "a1"}}}
	sink, err := s.Create(1, index, term, conf, 3, trans)
	check(t, err)
	_, err = sink.Write([]byte(body))
	check(t, err)
	return sink
}

// listed returns the positions of all snapshots, in the order of the list.
func listed(t *testing.T, s raft.SnapshotStore) string {
	t.Helper()
	list, err := s.List()
	check(t, err)
	out := ""
	for _, m := range list {
		out += fmt.Sprintf("%d-%d ", m.Term, m.Index)
	}
	return out
}

func TestSnapshots(t *testing.T) {
	both(t, func(t *testing.T, s stores) {
		snaps := s.Snapshots()
		want := func(list string) {
			t.Helper()
			if got := listed(t, snaps); got != list {
				t.Fatalf("snapshots %q, want %q", got, list)
			}
		}
		want("")
		sink := begin(t, snaps, 2, 10, "ten")
		want("") // not before it is closed
		check(t, sink.Close())
		check(t, sink.Close())
		check(t, sink.Cancel())
		want("2-10 ")
		canceled := begin(t, snaps, 2, 15, "fifteen")
		check(t, canceled.Cancel())
		check(t, canceled.Close())
		want("2-10 ")
		check(t, begin(t, snaps, 10, 5, "term ten").Close())
		want("10-5 2-10 ") // terms first, as numbers
		check(t, begin(t, snaps, 2, 20, "twenty").Close())
		want("10-5 2-20 ") // two are kept

		meta, body, err := snaps.Open(sink.ID())
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a dropped snapshot opened as %v, %v, %v", meta, body, err)
		}
		list, err := snaps.List()
		check(t, err)
		meta, body, err = snaps.Open(list[1].ID)
		check(t, err)
		data, err := io.ReadAll(body)
		check(t, err)
		check(t, body.Close())
		if string(data) != "twenty" || meta.Size != 6 || meta.Index != 20 || meta.Term != 2 || meta.Version != 1 ||
			meta.ConfigurationIndex != 3 || len(meta.Configuration.Servers) != 1 || meta.Configuration.Servers[0].ID != "p1" {
			t.Errorf("read back %q of %+v", data, meta)
		}
		if _, err := snaps.Create(0, 1, 1, raft.Configuration{}, 0, nil); err == nil {
			t.Error("an unknown snapshot version was taken")
		}
	})
}
