package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster"
)

const leads = "this peer leads"

// apiAddress is where a test's peer n has its API.
func apiAddress(n int) string { return strings.TrimSuffix(address(n), "7000") + "10000" }

// waitAny waits until one of the peers says the text, and says which.
func waitAny(t *testing.T, text string, peers ...*child) (which int) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for i, p := range peers {
			if strings.Contains(strings.Join(p.said(), "\n"), text) {
				return i
			}
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("nobody said %q in %s", text, patience)
		}
	}
}

// Three founders elect a leader; when it is asked to end it hands over, exits with
// 0, and another leads. Started again it is a follower of the same cluster, and a
// fourth peer is taken in.
func TestThreePeersElectAndHandOver(t *testing.T) {
	dir := t.TempDir()
	var list []string
	for i := 1; i <= 3; i++ {
		list = append(list, fmt.Sprintf("p%d=%s", i, address(i)))
	}
	start := func(i int, way ...string) *child {
		id := fmt.Sprintf("p%d", i)
		return spawn(t, append([]string{"server", "--data-dir", filepath.Join(dir, id), "--id", id, "--listen", address(i), "--http", apiAddress(i)}, way...)...)
	}
	found := []string{"--bootstrap", strings.Join(list, ",")}
	peers := []*child{start(1, found...), start(2, found...), start(3, found...)}
	leader := waitAny(t, leads, peers...)

	peers[leader].signal(t, syscall.SIGTERM)
	if code := peers[leader].exit(t); code != 0 {
		t.Errorf("the leader ended with exit code %d", code)
	}
	if said := strings.Join(peers[leader].said(), "\n"); strings.Contains(said, "nobody took leadership over") {
		t.Error("leadership was not handed over")
	}
	rest := append(append([]*child(nil), peers[:leader]...), peers[leader+1:]...)
	waitAny(t, leads, rest...)

	back := start(leader+1, found...)
	back.line(t, "peer started")
	fourth := start(4, "--join", address(1)+","+address(2)+","+address(3))
	fourth.line(t, "this peer is a member")
	waitAny(t, "a peer has caught up and got a vote", append(rest, back)...)
}

// The id that founders derive depends on who they are and not on how they are listed.
func TestClusterOfFounders(t *testing.T) {
	a, b := cluster.Server{ID: "a", Address: "127.0.0.1:1"}, cluster.Server{ID: "b", Address: "127.0.0.1:2"}
	if clusterOf([]cluster.Server{a, b}) != clusterOf([]cluster.Server{b, a}) {
		t.Error("the order of the list changes the id")
	}
	if clusterOf([]cluster.Server{a}) == clusterOf([]cluster.Server{a, b}) {
		t.Error("other founders, same id")
	}
}
