package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/test/childtest"
	"github.com/berth-gpu/berth/trust"
)

// TestMain builds the program once.
func TestMain(m *testing.M) { os.Exit(childtest.Main(m, "berthd")) }

// address is a loopback address that no other test process uses: all of 127/8 is
// this machine.
func address(n int) string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d:7000", 64+n, pid>>8&0xff, pid&0xff)
}

// certify makes the certificate of the only member of a new cluster, in its data folder, and returns that folder.
func certify(t *testing.T, data string, role trust.Role, name string) string {
	t.Helper()
	m, err := trust.Found(trust.Member{Name: "first"}, time.Now())
	if err == nil {
		m, err = m.Certify(trust.Member{Role: role, Name: name}, time.Now())
	}
	if err == nil {
		err = errors.Join(os.MkdirAll(data, 0o700), trust.Save(filepath.Join(data, trust.Subfolder), m))
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// onePeer returns the data folder of a peer p1 of a new cluster.
func onePeer(t *testing.T) string {
	t.Helper()
	return certify(t, filepath.Join(t.TempDir(), "p1"), trust.RolePeer, "p1")
}

// certifyPeers makes the certificates of peers of one cluster, each in the folder of its name below dir. Those that
// have one keep it.
func certifyPeers(t *testing.T, dir string, ids ...string) {
	t.Helper()
	var all []devcluster.Member
	for _, id := range ids {
		all = append(all, devcluster.Member{Name: id, Role: devcluster.RoleServer})
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), devcluster.Certify(dir, all...)); err != nil {
		t.Fatal(err)
	}
}
