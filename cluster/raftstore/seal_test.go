package raftstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// memLogs is a log in memory that returns what was stored in it.
type memLogs struct {
	raft.LogStore
	entries map[uint64]raft.Log
}

func (m *memLogs) StoreLogs(logs []*raft.Log) error {
	for _, l := range logs {
		m.entries[l.Index] = *l
	}
	return nil
}

func (m *memLogs) GetLog(index uint64, log *raft.Log) error {
	e, found := m.entries[index]
	if !found {
		return raft.ErrLogNotFound
	}
	*log = e
	return nil
}

// Whatever is changed of an entry is noticed when it is read: any bit of its data and of
// its seal, its index, its term, its type, and that it is another entry altogether.
func TestAChangedEntryIsNotRead(t *testing.T) {
	t.Parallel()
	mem := &memLogs{entries: map[uint64]raft.Log{}}
	logs := SealLogs(mem, "raft.db")
	for i := range uint64(3) {
		check(t, logs.StoreLog(&raft.Log{Index: i + 1, Term: 2, Type: raft.LogCommand, Data: fmt.Appendf(nil, "entry %d", i)}))
	}
	sound := mem.entries[2]
	changes := map[string]func(*raft.Log){
		"index":   func(l *raft.Log) { l.Index++ },
		"term":    func(l *raft.Log) { l.Term++ },
		"type":    func(l *raft.Log) { l.Type = raft.LogNoop },
		"another": func(l *raft.Log) { *l = mem.entries[1] },
		"no seal": func(l *raft.Log) { l.Extensions = nil },
		"no data": func(l *raft.Log) { l.Data = nil },
		"longer":  func(l *raft.Log) { l.Data = append(bytes.Clone(l.Data), 0) },
	}
	for bit := range 8 * len(sound.Data) {
		changes[fmt.Sprint("data, bit ", bit)] = func(l *raft.Log) { l.Data = bytes.Clone(l.Data); l.Data[bit/8] ^= 1 << (bit % 8) }
	}
	for bit := range 8 * len(sound.Extensions) {
		changes[fmt.Sprint("seal, bit ", bit)] = func(l *raft.Log) { l.Extensions = bytes.Clone(l.Extensions); l.Extensions[bit/8] ^= 1 << (bit % 8) }
	}
	for name, change := range changes {
		bad := sound
		change(&bad)
		mem.entries[2] = bad
		var got raft.Log
		err := logs.GetLog(2, &got)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "raft.db: log entry 2 ") || !strings.Contains(err.Error(), "new --id") {
			t.Errorf("%s: %v", name, err)
		}
		if name != "no seal" && name != "another" {
			if err := logs.StoreLog(&bad); err == nil && name != "index" {
				t.Errorf("%s: stored for another leader", name)
			}
		}
	}
	mem.entries[2] = sound
	var got raft.Log
	check(t, logs.GetLog(2, &got))
	if err := logs.GetLog(9, &got); err != raft.ErrLogNotFound { //nolint:errorlint // raft compares so
		t.Errorf("a missing entry gave %v", err)
	}
}

// A flipped bit anywhere in the data of an entry on disk keeps the folder from being
// opened, with the index in the one line.
func TestAFlippedBitInTheLogFile(t *testing.T) {
	t.Parallel()
	o := small(t.TempDir())
	s := open(t, o)
	check(t, s.Stable().SetUint64(keyTerm, 1))
	for i := range uint64(40) {
		check(t, s.Logs().StoreLog(&raft.Log{Index: i + 1, Term: 1, Data: fmt.Appendf(nil, "the text of entry <%d>", i+1)}))
	}
	check(t, s.Close())
	path := filepath.Join(o.Dir, boltName)
	healthy, err := os.ReadFile(path)
	check(t, err)
	for _, index := range []int{1, 17, 40} {
		text := fmt.Appendf(nil, "the text of entry <%d>", index)
		if bytes.Count(healthy, text) == 0 {
			t.Fatalf("entry %d is not in the file", index)
		}
		bad := bytes.ReplaceAll(healthy, text, append([]byte("The"), text[3:]...)) // old pages hold copies
		check(t, os.WriteFile(path, bad, 0o600))
		_, err := Open(o)
		if want := fmt.Sprintf("raft.db: log entry %d is damaged", index); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("entry %d: %v", index, err)
		}
	}
	check(t, os.WriteFile(path, healthy, 0o600))
	check(t, open(t, o).Close())
}

// A changed term or vote is noticed when it is read, and at the start.
func TestAChangedVoteIsNotRead(t *testing.T) {
	t.Parallel()
	for _, key := range [][]byte{keyTerm, keyVoteTerm, keyVote} {
		o := small(t.TempDir())
		s := open(t, o)
		check(t, s.Stable().SetUint64(keyTerm, 7))
		check(t, s.Stable().SetUint64(keyVoteTerm, 7))
		check(t, s.Stable().Set(keyVote, []byte("p1:7000")))
		raw, err := s.bolt.Get(key)
		check(t, err)
		for bit := range 8 * len(raw) {
			bad := bytes.Clone(raw)
			bad[bit/8] ^= 1 << (bit % 8)
			check(t, s.bolt.Set(key, bad))
			if _, err := s.Stable().Get(key); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s with bit %d flipped: %v", key, bit, err)
			}
		}
		check(t, s.Close())
		if _, err := Open(o); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), string(key)) {
			t.Errorf("%s at the start: %v", key, err)
		}
	}
}

// The value of one key does not pass for that of another.
func TestAVoteIsBoundToItsKey(t *testing.T) {
	t.Parallel()
	s := open(t, small(t.TempDir()))
	defer func() { check(t, s.Close()) }()
	check(t, s.Stable().SetUint64(keyTerm, 7))
	raw, err := s.bolt.Get(keyTerm)
	check(t, err)
	check(t, s.bolt.Set(keyVoteTerm, raw))
	if _, err := s.Stable().GetUint64(keyVoteTerm); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the term passes for the term of the vote: %v", err)
	}
}

// Every bit of a snapshot counts: of the state, and of its description.
func TestAFlippedBitInASnapshot(t *testing.T) {
	t.Parallel()
	o := small(t.TempDir())
	s := open(t, o)
	_, trans := raft.NewInmemTransport("")
	conf := raft.Configuration{Servers: []raft.Server{{ID: "p1", Address: "127.0.0.1:7001"}, {ID: "p2", Address: "127.0.0.1:7002"}}}
	sink, err := s.Snapshots().Create(1, 12, 3, conf, 2, trans)
	check(t, err)
	_, err = sink.Write([]byte("state"))
	check(t, err)
	check(t, sink.Close())
	check(t, s.Close())
	for _, name := range []string{snapshotState, "meta.json"} {
		path := filepath.Join(o.Dir, snapshotFolder, sink.ID(), name)
		healthy, err := os.ReadFile(path)
		check(t, err)
		for bit := range 8 * len(healthy) {
			bad := bytes.Clone(healthy)
			bad[bit/8] ^= 1 << (bit % 8)
			if name != snapshotState && sameMeta(healthy, bad) {
				continue // in the spelling of a name or in what does not count
			}
			check(t, os.WriteFile(path, bad, 0o600))
			snaps, err := openSnapshots(o.Dir, o.withDefaults().Logger)
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s with bit %d flipped, %q: %+v, %v", name, bit, bad, snaps, err)
			}
			if _, _, _, err := OpenSnapshot(o.Dir); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s with bit %d flipped is opened for reading: %v", name, bit, err)
			}
		}
		check(t, os.WriteFile(path, healthy, 0o600))
	}
	s = open(t, o)
	defer func() { check(t, s.Close()) }()
	for _, path := range []string{o.Dir, filepath.Join(o.Dir, snapshotFolder), filepath.Join(o.Dir, snapshotFolder, sink.ID())} {
		index, folder, body, err := OpenSnapshot(path) // while the store is open
		check(t, err)
		text, err := io.ReadAll(body)
		check(t, errors.Join(err, body.Close()))
		if string(text) != "state" || index != 12 || filepath.Base(folder) != sink.ID() {
			t.Errorf("%s: read %q at index %d of %s", path, text, index, folder)
		}
	}
	if _, _, _, err := OpenSnapshot(t.TempDir()); !errors.Is(err, ErrUnusable) {
		t.Errorf("a folder without a snapshot: %v", err)
	}
	meta, body, err := s.Snapshots().Open(sink.ID())
	check(t, err)
	var text bytes.Buffer
	_, err = text.ReadFrom(body)
	check(t, err)
	check(t, body.Close())
	if text.String() != "state" || meta.Size != 5 {
		t.Errorf("read back %q of %+v", text.String(), meta)
	}
}

// sameMeta reports whether two descriptions agree in what raft uses.
func sameMeta(a, b []byte) bool {
	of := func(data []byte) string {
		var m struct {
			raft.SnapshotMeta
			CRC []byte
		}
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&m); err != nil {
			return string(data)
		}
		m.Peers, m.ID = nil, ""
		out, _ := json.Marshal(m)
		return string(out)
	}
	return of(a) == of(b)
}

// dropSnapshots deletes the snapshots of a data folder whose names match a pattern.
func dropSnapshots(t *testing.T, dir, names string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, snapshotFolder, names))
	check(t, err)
	for _, f := range found {
		check(t, os.RemoveAll(f))
	}
}

// A folder whose snapshots and log do not meet has lost what it acknowledged: it is refused in one line, and
// one that merely lacks unneeded entries is opened.
func TestSnapshotsAndLogMustMeet(t *testing.T) {
	t.Parallel()
	entries := func(from, to uint64) (logs []*raft.Log) {
		for i := from; i <= to; i++ {
			logs = append(logs, &raft.Log{Index: i, Term: 1, Data: []byte("x")})
		}
		return logs
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, s *Store)
		drop  string // snapshots to delete
		says  string // empty: it opens
	}{
		{"sound", nil, "", ""},
		{"all snapshots deleted", nil, "*", "no snapshot is there, and the log lacks entries 1 to 60"},
		{"the newest deleted, the log reaches back", nil, "1-100-*", ""},
		{"the newest deleted, the log does not reach back", func(t *testing.T, s *Store) { check(t, s.bolt.DeleteRange(61, 90)) }, "1-100-*", "of entry 70, and the log lacks entries 71 to 90"},
		{"a gap behind the snapshot", func(t *testing.T, s *Store) { check(t, s.bolt.DeleteRange(105, 106)) }, "", "lacks entries 105"},
		{"a gap below the snapshot", func(t *testing.T, s *Store) { check(t, s.bolt.DeleteRange(80, 85)) }, "", ""},
		{"the log begins behind the snapshot", func(t *testing.T, s *Store) { check(t, s.bolt.DeleteRange(1, 105)) }, "", "lacks entries 101 to 105"},
		{"the log ends before the snapshot", func(t *testing.T, s *Store) { check(t, s.bolt.DeleteRange(90, 120)) }, "", ""},
		{"no log", func(t *testing.T, s *Store) { check(t, s.bolt.DeleteRange(1, 120)) }, "", ""},
		{"no log, no snapshot", func(t *testing.T, s *Store) { check(t, s.bolt.DeleteRange(1, 120)) }, "*", "no snapshot is there, and the log lacks entries 1 to 100"},
		{"an entry of a term that is forgotten", func(t *testing.T, s *Store) { check(t, s.Stable().SetUint64(keyTerm, 0)) }, "", "remembers term 0 only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := small(t.TempDir())
			s := open(t, o)
			check(t, s.Stable().SetUint64(keyTerm, 1))
			check(t, s.Logs().StoreLogs(entries(1, 120)))
			snapshot(t, s.Snapshots(), 1, 70, "old")
			snapshot(t, s.Snapshots(), 1, 100, "new")
			check(t, s.Logs().DeleteRange(1, 60))
			if c.spoil != nil {
				c.spoil(t, s)
			}
			check(t, s.Close())
			if c.drop != "" {
				dropSnapshots(t, o.Dir, c.drop)
			}
			s, err := Open(o)
			switch {
			case err == nil && c.says != "":
				t.Error("the folder was opened")
			case err != nil && (c.says == "" || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), "\n")):
				t.Errorf("%v does not say %q", err, c.says)
			}
			if err == nil {
				check(t, s.Close())
			}
		})
	}
}

// What is committed is stored with the entries, and known after a start. No reader of an entry gets it, and a changed one is noticed.
func TestMarks(t *testing.T) {
	t.Parallel()
	o := small(t.TempDir())
	s := open(t, o)
	check(t, s.Stable().SetUint64(keyTerm, 1))
	logs, is := s.Logs().(Marked)
	if !is {
		t.Fatal("the log has no marks")
	}
	for i := range uint64(40) {
		logs.Mark(i)
		logs.Mark(i / 2) // an index that is known stays known
		check(t, logs.StoreLogs([]*raft.Log{{Index: 2*i + 1, Term: 1, Data: []byte("a")}, {Index: 2*i + 2, Term: 1, Data: []byte("b")}}))
	}
	check(t, s.Close())
	s = open(t, o)
	defer func() { check(t, s.Close()) }()
	logs, _ = s.Logs().(Marked)
	if got := logs.Committed(); got != 39 {
		t.Errorf("%d is known, want 39", got)
	}
	for _, index := range []uint64{1, 2, 79, 80} {
		var l raft.Log
		check(t, logs.GetLog(index, &l))
		check(t, CheckSeal(&l))
	}
	var l raft.Log
	check(t, s.bolt.GetLog(80, &l))
	for bit := 8 * sealSize; bit < 8*len(l.Extensions); bit++ {
		bad := l
		bad.Extensions = bytes.Clone(l.Extensions)
		bad.Extensions[bit/8] ^= 1 << (bit % 8)
		check(t, s.bolt.StoreLog(&bad))
		if err := s.logs.GetLog(80, &raft.Log{}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "log entry 80 is damaged") {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
	check(t, s.bolt.StoreLog(&l))
}
