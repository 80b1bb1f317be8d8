package raftstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
)

func TestOpenKeepsWhatItHolds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	s := open(t, small(dir))
	id := s.Identity()
	if len(id.PeerID) != 32 || id.ClusterID != "" {
		t.Fatalf("a new folder has identity %+v", id)
	}
	check(t, s.Logs().StoreLog(&raft.Log{Index: 1, Term: 1, Data: []byte("one")}))
	check(t, s.Stable().SetUint64([]byte("CurrentTerm"), 7))
	snapshot(t, s.Snapshots(), 1, 1, "state")
	check(t, s.SetCluster("c1"))
	check(t, s.Close())

	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v (%v), want 0700", st.Mode().Perm(), err)
	}
	o := small(dir)
	o.Deep = true
	s = open(t, o)
	defer func() { check(t, s.Close()) }()
	if got := s.Identity(); got.PeerID != id.PeerID || got.ClusterID != "c1" {
		t.Errorf("reopened as %+v, was %+v in cluster c1", got, id)
	}
	var entry raft.Log
	check(t, s.Logs().GetLog(1, &entry))
	if term, err := s.Stable().GetUint64([]byte("CurrentTerm")); err != nil || term != 7 || string(entry.Data) != "one" {
		t.Errorf("read back term %d (%v) and entry %q", term, err, entry.Data)
	}
	st, err := s.Stats()
	check(t, err)
	if st.LastIndex != 1 || st.FirstIndex != 1 || st.SnapshotBytes != 5 || st.LogBytes == 0 || st.Space.Free == 0 {
		t.Errorf("stats %+v", st)
	}
}

func TestSetCluster(t *testing.T) {
	o := small(t.TempDir())
	o.ClusterID = "c1"
	s := open(t, o)
	defer func() { check(t, s.Close()) }()
	check(t, s.SetCluster("c1"))
	err := s.SetCluster("c2")
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "cluster c1, not to cluster c2") {
		t.Fatalf("a second cluster id gave %v", err)
	}
	if got := s.Identity().ClusterID; got != "c1" {
		t.Errorf("the refused id was kept: %s", got)
	}
}

// TestFaultsAtStart breaks a healthy folder in every way that an operator may
// meet and wants one line that says what, where and what to do.
func TestFaultsAtStart(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(t *testing.T, o *Options)
		kind  error
		says  []string
	}{
		{"locked by another process", func(t *testing.T, o *Options) { holdInProcess(t, o.Dir) }, ErrLocked, []string{"(pid ", "stop that process"}},
		{"locked in this process", func(t *testing.T, o *Options) {
			s := open(t, *o)
			t.Cleanup(func() { _ = s.Close() })
		}, ErrLocked, []string{"another process uses this data folder"}},
		{"raft.db open elsewhere", lockBolt(syscall.LOCK_EX), ErrLocked, []string{"raft.db", "stop that process"}},
		{"raft.db read elsewhere", lockBolt(syscall.LOCK_SH), ErrLocked, []string{"raft.db", "stop that process"}},
		{"a file in place of the folder", func(t *testing.T, o *Options) {
			o.Dir = filepath.Join(t.TempDir(), "file")
			check(t, os.WriteFile(o.Dir, nil, 0o600))
		}, ErrUnusable, []string{"cannot create the data folder"}},
		{"unwritable", func(t *testing.T, o *Options) {
			if os.Getuid() == 0 {
				t.Skip("root writes everywhere")
			}
			check(t, os.Chmod(o.Dir, 0o500))                 //nolint:gosec // a folder needs x
			t.Cleanup(func() { _ = os.Chmod(o.Dir, 0o700) }) //nolint:gosec // a folder needs x
		}, ErrUnusable, []string{"mounted writable"}},
		{"a folder in place of the probe", func(t *testing.T, o *Options) {
			check(t, os.MkdirAll(filepath.Join(o.Dir, "probe.tmp", "x"), 0o700))
		}, ErrUnusable, []string{"cannot be written"}},
		{"no space", func(_ *testing.T, o *Options) {
			o.Ballast = DefaultBallast
			o.statfs = func(string) (Space, error) { return Space{Free: 575 << 20, Total: 1 << 40}, nil }
		}, ErrNoSpace, []string{"575 MiB are free", "576 MiB are needed", "make room"}},
		{"other peer", func(_ *testing.T, o *Options) { o.PeerID = "p2" }, ErrForeign, []string{"peer p1, not to peer p2"}},
		{"other cluster", func(_ *testing.T, o *Options) { o.ClusterID = "c2" }, ErrForeign, []string{"cluster c1, not to cluster c2"}},
		{"newer format", put(identityName, `{"format":2,"peer_id":"p1"}`), ErrForeign, []string{"format 2", "newer version"}},
		{"half an identity", put(identityName, `{"format":1,"pee`), ErrCorrupt, []string{"identity file is not whole", "rejoins"}},
		{"an empty identity", put(identityName, ``), ErrCorrupt, []string{"identity file is not whole", "rejoins"}},
		{"an identity of nobody", put(identityName, `{}`), ErrCorrupt, []string{"names no peer"}},
		{"no identity", remove(identityName), ErrCorrupt, []string{"identity file is missing", "rejoins"}},
		{"no store", remove(boltName), ErrCorrupt, []string{"raft log is missing", "rejoins"}},
		{"zero-length store", put(boltName, ``), ErrCorrupt, []string{"raft log is empty", "rejoins"}},
		{"garbage store", put(boltName, strings.Repeat("x", 1<<16)), ErrCorrupt, []string{"meta pages", "rejoins"}},
		{"truncated store", func(t *testing.T, o *Options) {
			check(t, os.Truncate(filepath.Join(o.Dir, boltName), 20<<10))
		}, ErrCorrupt, []string{"cut off", "rejoins"}},
		{"corrupt store", tearPage, ErrCorrupt, []string{"raft log is damaged", "page ", "rejoins"}},
		{"corrupt snapshot meta", inSnapshots("meta.json", "{"), ErrCorrupt, []string{"meta.json", "rejoins"}},
		{"corrupt snapshot", inSnapshots(snapshotState, "stale"), ErrCorrupt, []string{"snapshot is damaged", "CRC", "rejoins"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := small(t.TempDir())
			o.PeerID, o.ClusterID = "p1", "c1"
			s := open(t, o)
			fillStore(t, s)
			check(t, s.Close())
			tc.spoil(t, &o)
			s, err := Open(o)
			if err == nil {
				_ = s.Close()
				t.Fatal("the folder was opened")
			}
			if !errors.Is(err, tc.kind) {
				t.Errorf("kind: want %v, got %v", tc.kind, err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			for _, part := range append(tc.says, o.Dir) {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

// fillStore gives a store enough entries for several levels of pages, a term
// and two snapshots.
func fillStore(t *testing.T, s *Store) {
	t.Helper()
	check(t, s.Stable().SetUint64([]byte("CurrentTerm"), 1))
	for batch := range 2 {
		logs := make([]*raft.Log, 1000)
		for i := range logs {
			logs[i] = &raft.Log{Index: uint64(1000*batch + i + 1), Term: 1, Data: bytes.Repeat([]byte("d"), 50)}
		}
		check(t, s.Logs().StoreLogs(logs))
	}
	snapshot(t, s.Snapshots(), 1, 500, "old")
	snapshot(t, s.Snapshots(), 1, 1000, "state")
}

// snapshot writes one snapshot and returns its id.
func snapshot(t *testing.T, store raft.SnapshotStore, term, index uint64, body string) string {
	t.Helper()
	_, trans := raft.NewInmemTransport("")
	sink, err := store.Create(1, index, term, raft.Configuration{}, 0, trans)
	check(t, err)
	_, err = sink.Write([]byte(body))
	check(t, err)
	check(t, sink.Close())
	return sink.ID()
}

func put(name, content string) func(*testing.T, *Options) {
	return func(t *testing.T, o *Options) {
		check(t, os.WriteFile(filepath.Join(o.Dir, name), []byte(content), 0o600))
	}
}

func remove(name string) func(*testing.T, *Options) {
	return func(t *testing.T, o *Options) { check(t, os.Remove(filepath.Join(o.Dir, name))) }
}

// inSnapshots overwrites a file of the newest snapshot only.
func inSnapshots(name, content string) func(*testing.T, *Options) {
	return func(t *testing.T, o *Options) {
		found, err := filepath.Glob(filepath.Join(o.Dir, snapshotFolder, "1-1000-*", name))
		if err != nil || len(found) != 1 {
			t.Fatalf("snapshots found: %v, %v", found, err)
		}
		check(t, os.WriteFile(found[0], []byte(content), 0o600))
	}
}

// lockBolt locks the raft log as bbolt does for writing or for reading.
func lockBolt(how int) func(*testing.T, *Options) {
	return func(t *testing.T, o *Options) {
		f, err := os.Open(filepath.Join(o.Dir, boltName))
		check(t, err)
		t.Cleanup(func() { _ = f.Close() })
		check(t, syscall.Flock(int(f.Fd()), how))
		o.LockTimeout = 1
	}
}

// tearPage overwrites a page in use with zeros, as a lost write would.
func tearPage(t *testing.T, o *Options) {
	path := filepath.Join(o.Dir, boltName)
	b, err := os.ReadFile(path)
	check(t, err)
	m, err := findMeta(bytes.NewReader(b), int64(len(b)))
	check(t, err)
	at := int64(m.root) * m.pageSize
	clear(b[at : at+m.pageSize])
	check(t, os.WriteFile(path, b, 0o600)) //nolint:gosec // in a folder of the test
}

// TestFreshFolderAfterCrash: a first start may die at any point before it has
// written the identity; the next one begins again.
func TestFreshFolderAfterCrash(t *testing.T) {
	o := small(t.TempDir())
	check(t, open(t, o).Close())
	check(t, os.Remove(filepath.Join(o.Dir, identityName)))
	check(t, open(t, o).Close())

	check(t, os.Remove(filepath.Join(o.Dir, identityName)))
	check(t, os.WriteFile(filepath.Join(o.Dir, boltName), nil, 0o600))
	check(t, os.WriteFile(filepath.Join(o.Dir, identityName+".tmp"), []byte("{"), 0o600))
	check(t, open(t, o).Close())
}

func TestUnfinishedSnapshotsAreRemoved(t *testing.T) {
	o := small(t.TempDir())
	check(t, open(t, o).Close())
	left := filepath.Join(o.Dir, snapshotFolder, "9-9-9.tmp")
	check(t, os.MkdirAll(left, 0o700))
	check(t, open(t, o).Close())
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", left, err)
	}
}

func TestSnapshotOrderIsNumeric(t *testing.T) {
	a, _ := parseSnapshotName("9-100-1")
	b, ok := parseSnapshotName("10-5-1")
	if !ok || !b.after(a) || a.after(b) {
		t.Errorf("term 10 does not come after term 9")
	}
	if _, ok := parseSnapshotName("lost+found"); ok {
		t.Error("a foreign folder was taken for a snapshot")
	}
}
