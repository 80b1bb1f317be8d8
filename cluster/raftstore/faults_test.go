package raftstore

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// startFault is a way to break a healthy folder, and the expected fault of Open.
type startFault struct {
	name  string
	spoil func(t *testing.T, o *Options)
	kind  error
	says  []string
}

// startFaults returns the faults that an operator may meet at a start.
func startFaults() []startFault {
	return slices.Concat(useFaults(), identityFaults(), damageFaults())
}

// useFaults keep the folder from being used.
func useFaults() []startFault {
	return []startFault{
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
		{"mounted for reading", mountedForReading, ErrUnusable, []string{"mounted writable"}},
		{"unwritable", func(t *testing.T, o *Options) {
			if os.Getuid() == 0 {
				t.Skip("needs another user than root, which can write to any folder")
			}
			check(t, os.Chmod(o.Dir, 0o500))
			t.Cleanup(func() { _ = os.Chmod(o.Dir, 0o700) })
		}, ErrUnusable, []string{"mounted writable"}},
		{"a folder in place of the probe", func(t *testing.T, o *Options) {
			check(t, os.MkdirAll(filepath.Join(o.Dir, "probe.tmp", "x"), 0o700))
		}, ErrUnusable, []string{"cannot be written"}},
		{"no space", func(_ *testing.T, o *Options) {
			o.Ballast = DefaultBallast
			o.statfs = func(string) (Space, error) { return Space{Free: 575 << 20, Total: 1 << 40}, nil }
		}, ErrNoSpace, []string{"575 MiB are free", "576 MiB are needed", "make room"}},
	}
}

// mountedForReading makes the folder read-only for every user, root as well.
func mountedForReading(t *testing.T, o *Options) {
	if err := syscall.Mount(o.Dir, o.Dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("needs the right to mount (CAP_SYS_ADMIN): %v", err)
	}
	t.Cleanup(func() { check(t, syscall.Unmount(o.Dir, syscall.MNT_DETACH)) })
	check(t, syscall.Mount("", o.Dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}

// identityFaults make the folder that of another peer or cluster.
func identityFaults() []startFault {
	return []startFault{
		{"other peer", func(_ *testing.T, o *Options) { o.PeerID = "p2" }, ErrForeign, []string{"peer p1, not to peer p2"}},
		{"other cluster", func(_ *testing.T, o *Options) { o.ClusterID = "c2" }, ErrForeign, []string{"cluster c1, not to cluster c2"}},
		{"newer format", putIdentity(Identity{Format: 3, PeerID: "p1", FolderID: "f1"}), ErrForeign, []string{"format 3", "newer version"}},
		{"half an identity", put(identityName, `{"format":1,"pee`), ErrCorrupt, []string{"identity file is damaged", "new --id"}},
		{"a flipped bit in the identity", func(t *testing.T, o *Options) {
			path := filepath.Join(o.Dir, identityName)
			b, err := os.ReadFile(path)
			check(t, err)
			check(t, os.WriteFile(path, bytes.Replace(b, []byte("p1"), []byte("p3"), 1), 0o600))
			o.PeerID = "p3"
		}, ErrCorrupt, []string{"checksum", "new --id"}},
		{"an empty identity", put(identityName, ``), ErrCorrupt, []string{"identity file is damaged", "new --id"}},
		{"an identity without a peer", putIdentity(Identity{Format: identityFormat}), ErrCorrupt, []string{"names no peer"}},
		{"no identity", remove(identityName), ErrCorrupt, []string{"identity file is missing", "new --id"}},
	}
}

// damageFaults returns what a bad disk or a hand does to the content.
func damageFaults() []startFault {
	return []startFault{
		{"no store", remove(boltName), ErrCorrupt, []string{"raft log is missing", "new --id"}},
		{"zero-length store", put(boltName, ``), ErrCorrupt, []string{"raft log is empty", "new --id"}},
		{"garbage store", put(boltName, strings.Repeat("x", 1<<16)), ErrCorrupt, []string{"meta pages", "new --id"}},
		{"truncated store", func(t *testing.T, o *Options) {
			check(t, os.Truncate(filepath.Join(o.Dir, boltName), 20<<10))
		}, ErrCorrupt, []string{"cut off", "new --id"}},
		{"corrupt store", tearPage, ErrCorrupt, []string{"raft log is damaged", "page ", "new --id"}},
		{"corrupt snapshot meta", inSnapshots("meta.json", "{"), ErrCorrupt, []string{"meta.json", "new --id"}},
		{"corrupt snapshot", inSnapshots(snapshotState, "stale"), ErrCorrupt, []string{"snapshot is damaged", "CRC", "new --id"}},
	}
}

func putIdentity(id Identity) func(*testing.T, *Options) {
	return func(t *testing.T, o *Options) { check(t, writeIdentity(o.Dir, id)) }
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
	check(t, os.WriteFile(path, b, 0o600))
}
