package raftstore

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	if st.LastIndex != 1 || st.FirstIndex != 1 || st.SnapshotBytes != 5 || st.LogBytes == 0 || st.Space.Free == 0 || st.SnapshotIndex != 1 ||
		time.Since(st.SnapshotAt).Abs() > time.Hour {
		t.Errorf("stats %+v", st)
	}
}

// A folder that others could enter, with files that they could read, is closed to them and used.
func TestOpenClosesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	check(t, os.Mkdir(dir, 0o700))
	check(t, os.Chmod(dir, 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "readable"), nil, 0o600))
	check(t, os.Chmod(filepath.Join(dir, "readable"), 0o644))
	log := &bytes.Buffer{}
	o := small(dir)
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	check(t, open(t, o).Close())
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 || !strings.Contains(log.String(), "data_folder_closed") {
		t.Errorf("the folder has mode %v (%v); the log says %s", st.Mode().Perm(), err, log)
	}
	check(t, os.Chmod(dir, 0o755))
	if os.Chown(dir, 12345, 12345) != nil {
		t.Skip("needs root, to give a folder to another user")
	}
	var fault *Fault
	if _, err := Open(small(dir)); !errors.As(err, &fault) || !strings.Contains(err.Error(), "belongs to user id 12345") {
		t.Errorf("a folder of another user: %v", err)
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

// TestFaultsAtStart breaks a healthy folder in every way that an operator may meet and expects one line with
// the problem, the place and the remedy.
func TestFaultsAtStart(t *testing.T) {
	for _, tc := range startFaults() {
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
