package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/inspect"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/test/childtest"
)

const leads = "gained leadership"

// apiAddress is where a test's peer n has its API.
func apiAddress(n int) string { return strings.TrimSuffix(address(n), "7000") + "10000" }

// waitAny waits until one of the peers says the text, and says which.
func waitAny(t *testing.T, text string, peers ...*childtest.Child) (which int) {
	t.Helper()
	limit := time.After(childtest.Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for i, p := range peers {
			if strings.Contains(strings.Join(p.Lines(), "\n"), text) {
				return i
			}
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("no peer logged %q in %s", text, childtest.Patience)
		}
	}
}

// Three founders elect a leader; when it is asked to end it hands over, exits with
// 0, and another leads. Started again it is a follower of the same cluster, and a
// fourth peer is taken in.
func TestThreePeersElectAndHandOver(t *testing.T) {
	dir := t.TempDir()
	certifyPeers(t, dir, "p1", "p2", "p3", "p4")
	var list []string
	for i := 1; i <= 3; i++ {
		list = append(list, fmt.Sprintf("p%d=%s", i, address(i)))
	}
	start := func(i int, way ...string) *childtest.Child {
		id := fmt.Sprintf("p%d", i)
		return childtest.Start(t, append([]string{"server", "--data-dir", filepath.Join(dir, id), "--id", id, "--listen", address(i), "--http", apiAddress(i)}, way...)...)
	}
	found := []string{"--bootstrap", strings.Join(list, ",")}
	peers := []*childtest.Child{start(1, found...), start(2, found...), start(3, found...)}
	leader := waitAny(t, leads, peers...)

	peers[leader].Signal(t, syscall.SIGTERM)
	if code := peers[leader].Exit(t); code != 0 {
		t.Errorf("the leader ended with exit code %d", code)
	}
	if said := strings.Join(peers[leader].Lines(), "\n"); strings.Contains(said, "no other peer took over leadership") {
		t.Error("leadership was not handed over")
	}
	rest := append(append([]*childtest.Child(nil), peers[:leader]...), peers[leader+1:]...)
	waitAny(t, leads, rest...)

	data := filepath.Join(dir, fmt.Sprintf("p%d", leader+1))
	if err := inspect.NoteEnd(data, &inspect.Ended{Why: "long ago"}); err != nil {
		t.Fatal(err)
	}
	back := start(leader+1, found...)
	back.Line(t, "peer started")
	fourth := start(4, "--join", address(1)+","+address(2)+","+address(3))
	fourth.Line(t, "this peer is a member")
	fourth.Line(t, "this peer follows")
	back.Signal(t, syscall.SIGTERM)
	if code, last := back.Exit(t), inspect.LastEnd(data); code != 0 || last != nil {
		t.Errorf("a peer that has taken part again ended with exit code %d and is said to have ended by itself: %+v", code, last)
	}
}

// A peer whose data folder was lost is refused in one line, whether it founds or joins,
// and comes back under a new id; meanwhile the others serve.
func TestAPeerWithoutItsFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	certifyPeers(t, dir, "p1", "p2", "p3", "p4")
	var list []string
	for i := 1; i <= 3; i++ {
		list = append(list, fmt.Sprintf("p%d=%s", i, address(i)))
	}
	found := []string{"--bootstrap", strings.Join(list, ",")}
	start := func(i int, way ...string) *childtest.Child {
		id := fmt.Sprintf("p%d", i)
		return childtest.Start(t, append([]string{"server", "--data-dir", filepath.Join(dir, id), "--id", id, "--listen", address(i), "--http", apiAddress(i)}, way...)...)
	}
	peers := map[string]*childtest.Child{"p1": start(1, found...), "p2": start(2, found...)}
	peers["p1"].Line(t, "waiting for the other founders") // the third founder has not answered
	if _, err := dial(t, apiAddress(1)).Health(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer yet of p3") {
		t.Errorf("ready with two of three founders: %v", err)
	}
	peers["p3"] = start(3, found...)
	left := dial(t, apiAddress(1), apiAddress(2), apiAddress(3))
	job := &wire.Submit{Command: "true", User: "username"}
	if _, err := left.Submit(t.Context(), job, "one"); err != nil {
		t.Fatal(err)
	}
	waitReachable(t, left, 3)
	peers["p2"].Signal(t, syscall.SIGKILL)
	for _, way := range [][]string{found, {"--join", address(1) + "," + address(3)}} {
		peers["p2"].Exit(t)
		if err := os.RemoveAll(filepath.Join(dir, "p2")); err != nil {
			t.Fatal(err)
		}
		certifyPeers(t, dir, "p1", "p2")
		peers["p2"] = start(2, way...)
		if code := peers["p2"].Exit(t); code != cmdline.ExitFailure {
			t.Errorf("%v: exit code %d, want %d", way, code, cmdline.ExitFailure)
		}
		said := peers["p2"].Lines()
		if last := said[len(said)-1]; !strings.Contains(last, "berth: ") || !strings.Contains(last, "a new --id and --join") {
			t.Errorf("%v: the last line is %q", way, last)
		}
	}
	if _, err := left.Submit(t.Context(), job, "two"); err != nil {
		t.Error(err)
	}
	start(4, "--join", address(1)+","+address(3)).Line(t, "this peer is a member")
}

// Three peers answer as one: what is submitted through any of them is read from any
// other, and a key means the same job everywhere, also after its leader was killed.
func TestThreePeersServeOneAPI(t *testing.T) {
	dir := t.TempDir()
	certifyPeers(t, dir, "p1", "p2", "p3", "p4")
	var list []string
	for i := 1; i <= 3; i++ {
		list = append(list, fmt.Sprintf("p%d=%s", i, address(i)))
	}
	peers := map[string]*childtest.Child{}
	for i := 1; i <= 3; i++ {
		id := fmt.Sprintf("p%d", i)
		peers[id] = childtest.Start(t, "server", "--data-dir", filepath.Join(dir, id), "--id", id, "--listen", address(i), "--http", apiAddress(i),
			"--bootstrap", strings.Join(list, ","))
	}
	one := func(i int) *client.Client { return dial(t, apiAddress(i)) }
	job := &wire.Submit{Command: "python train.py", RunID: "experiment-1", User: "username"}
	for i := 1; i <= 3; i++ {
		got, err := one(i).Submit(t.Context(), job, fmt.Sprint("key-", i))
		if err != nil || got.JobID != fmt.Sprint(i) || got.QueuePosition != i {
			t.Fatalf("submitted through p%d: %+v: %v", i, got, err)
		}
		d, _, err := one(1+i%3).Job(t.Context(), got.JobID, client.JobQuery{Consistency: "linearizable"})
		if err != nil || d.RunID != "experiment-1" {
			t.Fatalf("read elsewhere: %+v: %v", d, err)
		}
		if q, err := one(i).Queue(t.Context(), client.QueueQuery{}); err != nil || len(q.Queued) != i {
			t.Errorf("p%d does not see what it has answered: %+v: %v", i, q, err)
		}
	}
	peers[waitReachable(t, one(1), 3)].Signal(t, syscall.SIGKILL)
	left := dial(t, apiAddress(1), apiAddress(2), apiAddress(3))
	if got, err := left.Submit(t.Context(), job, "key-2"); err != nil || got.JobID != "2" {
		t.Errorf("the same key: %+v: %v", got, err)
	}
	if got, err := left.Submit(t.Context(), job, ""); err != nil || got.JobID != "4" {
		t.Errorf("another: %+v: %v", got, err)
	}
}

// waitReachable waits until a peer reaches so many, including itself, and returns the one that
// leads.
func waitReachable(t *testing.T, c *client.Client, want int) (leader string) {
	t.Helper()
	limit := time.After(childtest.Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		all, err := c.Peers(t.Context())
		reached := 0
		for _, p := range all.Peers {
			if p.Reachable && p.AppliedIndex > 0 && p.Address != "" {
				reached++
			}
		}
		if err == nil && reached == want && all.Leader != "" {
			return all.Leader
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("after %s the peers are %+v: %v", childtest.Patience, all, err)
		}
	}
}

func dial(t *testing.T, addresses ...string) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{Addresses: addresses, Patience: childtest.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
