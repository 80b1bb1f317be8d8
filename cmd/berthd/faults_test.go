package main

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/test/childtest"
	"github.com/berth-gpu/berth/trust"
)

// openStore makes a data folder of peer p1, and lets go of it at the end of the
// test at the latest.
func openStore(t *testing.T, dir, cluster string) *raftstore.Store {
	t.Helper()
	s, err := raftstore.Open(raftstore.Options{Dir: dir, PeerID: "p1", ClusterID: cluster, Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func usedStore(t *testing.T, dir, cluster string) {
	t.Helper()
	if err := openStore(t, dir, cluster).Close(); err != nil {
		t.Fatal(err)
	}
}

// snapshotSink takes the state of a snapshot.
type snapshotSink interface {
	io.WriteCloser
	ID() string
}

// beginSnapshot begins a snapshot of version 1 at index 10 and term 2, without servers.
func beginSnapshot[V ~int, C, T any, S snapshotSink](create func(V, uint64, uint64, C, uint64, T) (S, error)) (S, error) {
	var servers C
	var transport T
	return create(1, 10, 2, servers, 1, transport)
}

// snapshotOf writes a snapshot into a data folder, and returns the file with its state.
func snapshotOf(t *testing.T, dir, content string) string {
	t.Helper()
	s := openStore(t, dir, "")
	sink, err := beginSnapshot(s.Snapshots().Create)
	if err == nil {
		_, err = sink.Write([]byte(content))
		err = errors.Join(err, sink.Close())
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "snapshots", sink.ID(), "state.bin")
}

func overwrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fault is something that keeps a server from starting.
type fault struct {
	prepare func(t *testing.T, dir string) // in a folder that does not exist yet
	args    []string
	says    []string
}

func faultsAtStart() map[string]fault {
	return map[string]fault{
		"port in use": {prepare: func(t *testing.T, _ string) {
			l, err := net.Listen("tcp", address(0))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
		}, says: []string{address(0), "another process listens", "--listen"}},
		"the API's port in use": {prepare: func(t *testing.T, _ string) {
			l, err := net.Listen("tcp", apiAddress(0))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
		}, says: []string{apiAddress(0), "another process listens", "--http"}},
		"a file in place of the folder": {prepare: func(t *testing.T, dir string) {
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, says: []string{"cannot create the data folder", "check that"}},
		"a folder in use": {prepare: func(t *testing.T, dir string) {
			s := openStore(t, dir, "")
			t.Cleanup(func() { _ = s.Close() })
		}, says: []string{"another process uses this data folder", "--data-dir"}},
		"the folder of another cluster": {
			prepare: func(t *testing.T, dir string) { usedStore(t, dir, "other") },
			says:    []string{"belongs to cluster other", "--data-dir"},
		},
		"the folder of another peer": {
			prepare: func(t *testing.T, dir string) { usedStore(t, dir, "") },
			args:    []string{"--id", "p2", "--bootstrap", "p2=" + address(0)}, says: []string{"belongs to peer p1, not to peer p2"},
		},
		"a store that is cut off": {prepare: func(t *testing.T, dir string) {
			usedStore(t, dir, "")
			overwrite(t, filepath.Join(dir, "raft.db"), func(b []byte) []byte { return b[:len(b)/2] })
		}, says: []string{"raft.db", "damaged", "new --id"}},
		"a snapshot with a flipped bit": {prepare: func(t *testing.T, dir string) {
			overwrite(t, snapshotOf(t, dir, "BERTHSNAP and more"), func(b []byte) []byte { b[3] ^= 1; return b })
		}, says: []string{"snapshots", "damaged", "new --id"}},
		"a whole snapshot of something else": {
			prepare: func(t *testing.T, dir string) { snapshotOf(t, dir, "no state") },
			says:    []string{"snapshot cannot be restored", "move the folder away"},
		},
		"too little space": {args: []string{"--min-free", "17179869184"}, says: []string{"MiB are needed", "make room"}},
	}
}

// Each fault at start is one last line on standard error that names the place and
// what to do, and exit code 1.
func TestFaultsAtStart(t *testing.T) {
	for name, c := range faultsAtStart() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if c.prepare != nil {
				c.prepare(t, dir)
			}
			id := "p1"
			if len(c.args) > 0 && c.args[0] == "--id" {
				id = c.args[1]
			}
			if info, err := os.Stat(dir); err != nil || info.IsDir() {
				certify(t, dir, trust.RolePeer, id)
			}
			args := []string{"server", "--log-level", "error", "--data", dir, "--id", "p1", "--listen", address(0), "--http", apiAddress(0)}
			if c.args == nil || c.args[0] != "--id" {
				args = append(args, "--bootstrap", "p1="+address(0))
			}
			p := childtest.Start(t, append(args, c.args...)...)
			if code := p.Exit(t); code != cmdline.ExitFailure {
				t.Errorf("exit code %d, want %d", code, cmdline.ExitFailure)
			}
			lines := p.Lines()
			if len(lines) == 0 {
				t.Fatal("it said nothing")
			}
			last := lines[len(lines)-1]
			for _, want := range append(c.says, "berth: ") {
				if !strings.Contains(last, want) {
					t.Errorf("the last line is %q and does not say %q", last, want)
				}
			}
		})
	}
}

// A command line that makes no sense is refused with exit code 2 and the reason.
func TestUsageErrors(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	founder := []string{"server", "--data-dir", data, "--id", "p1", "--listen", address(0)}
	none := []string{"server", "--data-dir", filepath.Join(t.TempDir(), "none"), "--id", "p1", "--listen", address(0), "--bootstrap", "p1=" + address(0)}
	certify(t, data, trust.RolePeer, "p1")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an unknown command":   {[]string{"serve"}, `no command "serve"`},
		"an unknown flag":      {[]string{"server", "--frob"}, "--frob"},
		"no folder":            {[]string{"server", "--id", "p1"}, "--data-dir"},
		"no id":                {[]string{"server", "--data-dir", "d"}, "--id"},
		"an argument":          {append(founder, "now"), `"now"`},
		"an open API":          {append(founder, "--http", "0.0.0.0:10000", "--join", address(1)), "--http"},
		"no port":              {append(founder, "--join", "example.org"), "is not host:port"},
		"no certificate":       {none, "berth init"},
		"founding and joining": {append(founder, "--join", address(1), "--bootstrap", "p1="+address(0)), "one of them"},
		"not a founder":        {append(founder, "--bootstrap", "p2="+address(1)), "does not list this peer"},
		"founders that clash":  {append(founder, "--bootstrap", "p1="+address(0)+",p2="+address(0)), "share"},
		"no cluster":           {founder, "--bootstrap"},
		"unknown timeouts":     {append(founder, "--raft-timeouts", "moon", "--join", address(1)), "moon"},
		"an unknown level":     {append(founder, "--log-level", "loud", "--join", address(1)), "loud"},
	} {
		t.Run(name, func(t *testing.T) {
			p := childtest.Start(t, c.args...)
			if code := p.Exit(t); code != cmdline.ExitUsage {
				t.Errorf("exit code %d, want %d", code, cmdline.ExitUsage)
			}
			if said := strings.Join(p.Lines(), "\n"); !strings.Contains(said, c.says) || strings.Count(said, "\n") > 0 {
				t.Errorf("it said %q, want one line with %q", said, c.says)
			}
		})
	}
}
