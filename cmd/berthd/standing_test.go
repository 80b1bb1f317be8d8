package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/inspect"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/test/childtest"
	"github.com/berth-gpu/berth/trust"
)

// A leader that is removed answers before it ends. A peer that is removed while it is down learns that when it comes back, although its
// certificate is refused by all: it ends with the exit code of removed peers, and notes why. A peer whose certificate is revoked goes on,
// and says in its answers what to do.
func TestPeersLearnWhyTheyAreRefused(t *testing.T) {
	dir := t.TempDir()
	names := []string{"p1", "p2", "p3", "p4"}
	certifyPeers(t, dir, names...)
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = name + "=" + address(i+1)
	}
	start := func(i int) *childtest.Child {
		id := names[i-1]
		return childtest.Start(t, "server", "--data-dir", filepath.Join(dir, id), "--id", id, "--listen", address(i), "--http", apiAddress(i), "--bootstrap", strings.Join(list, ","))
	}
	peers := map[string]*childtest.Child{}
	for i, name := range names {
		peers[name] = start(i + 1)
	}
	number := func(name string) (n int) {
		if _, err := fmt.Sscanf(name, "p%d", &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	end := func(name string) {
		t.Helper()
		if code := peers[name].Exit(t); code != cmdline.ExitRemoved {
			t.Errorf("%s has ended with exit code %d", name, code)
		}
		if last := inspect.LastEnd(filepath.Join(dir, name)); last == nil || last.Code != cmdline.ExitRemoved || !strings.Contains(last.Why, "was removed from the cluster") {
			t.Errorf("%s has noted %+v", name, last)
		}
	}
	leader := waitReachable(t, dial(t, apiAddress(1)), 4)
	own := client.MembersOf(dial(t, apiAddress(number(leader))))
	if v, err := own.RemovePeer(t.Context(), leader); err != nil || !strings.Contains(v.Message, "is removed") {
		t.Errorf("the answer of a leader that removes itself: %+v, %v", v, err)
	}
	end(leader)
	left := []string{}
	for _, name := range names {
		if name != leader {
			left = append(left, name)
		}
	}
	api := dial(t, apiAddress(number(left[0])), apiAddress(number(left[1])))
	waitReachable(t, api, 3)
	peers[left[2]].Signal(t, syscall.SIGKILL)
	peers[left[2]].Exit(t)
	if _, err := client.MembersOf(api).RemovePeer(t.Context(), left[2]); err != nil {
		t.Fatal(err)
	}
	peers[left[2]] = start(number(left[2]))
	end(left[2])
}

// A peer whose certificate is revoked goes on, and says in all of its answers why it takes no part and what to do.
func TestARevokedPeerSaysWhy(t *testing.T) {
	dir := t.TempDir()
	names := []string{"p1", "p2", "p3"}
	certifyPeers(t, dir, names...)
	list := []string{"p1=" + address(1), "p2=" + address(2), "p3=" + address(3)}
	for i, name := range names {
		childtest.Start(t, "server", "--data-dir", filepath.Join(dir, name), "--id", name, "--listen", address(i+1), "--http", apiAddress(i+1), "--bootstrap", strings.Join(list, ","))
	}
	leader := waitReachable(t, dial(t, apiAddress(1)), 3)
	gone := 1
	if leader == "p1" {
		gone = 2
	}
	if _, err := client.MembersOf(dial(t, apiAddress(3))).Revoke(t.Context(), "peer", names[gone-1], false); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(childtest.Patience)
	c, err := client.New(client.Options{Addresses: []string{apiAddress(gone)}, Patience: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		_, err := c.Queue(t.Context(), client.QueueQuery{})
		if p, is := errors.AsType[*wire.Problem](err); is && strings.Contains(p.Detail, "has revoked the certificates of peer "+names[gone-1]) && strings.Contains(p.Detail, "berth join peer --renew") {
			break
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("the peer answers %v", err)
		}
	}
	if _, err := c.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "berth join peer --renew") {
		t.Errorf("readyz: %v", err)
	}
}

// Three peers that all come back at other addresses meet by the list in their settings, and register their addresses; one of them names the
// others without their ids, as a peer that has joined does. They may have exchanged their addresses, as after new leases of DHCP.
func TestAllPeersMove(t *testing.T) {
	port := func(raft, api string) func(i int) (string, string) {
		return func(i int) (string, string) {
			return strings.TrimSuffix(address(i), "7000") + raft, strings.TrimSuffix(address(i), "7000") + api
		}
	}
	for name, next := range map[string]func(i int) (raft, api string){
		"to new addresses": port("7100", "10100"),
		"round":            func(i int) (string, string) { return port("7000", "10000")(i%3 + 1) },
		"two of them": func(i int) (string, string) {
			return port("7000", "10000")(map[int]int{1: 2, 2: 1, 3: 3}[i])
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "two of them" {
				t.Skip("the others show the same")
			}
			move(t, port("7000", "10000"), next)
		})
	}
}

// move starts three peers, and again at other addresses.
func move(t *testing.T, first, next func(i int) (raft, api string)) {
	t.Helper()
	dir := t.TempDir()
	names := []string{"p1", "p2", "p3"}
	certifyPeers(t, dir, names...)
	listed := func(at func(i int) (raft, api string)) (all string) {
		for i, name := range names {
			raft, _ := at(i + 1)
			all += "," + name + "=" + raft
		}
		return all[1:]
	}
	start := func(i int, at func(i int) (raft, api string), way ...string) *childtest.Child {
		raft, api := at(i)
		return childtest.Start(t, append([]string{"server", "--data-dir", filepath.Join(dir, names[i-1]), "--id", names[i-1], "--listen", raft, "--http", api}, way...)...)
	}
	var peers []*childtest.Child
	for i := range names {
		peers = append(peers, start(i+1, first, "--bootstrap", listed(first)))
	}
	_, api := first(1)
	waitReachable(t, dial(t, api), 3)
	for _, p := range peers {
		p.Signal(t, syscall.SIGKILL)
		p.Exit(t)
	}
	where := map[string][2]string{}
	var raft, apis [4]string
	for i, name := range names {
		raft[i+1], apis[i+1] = next(i + 1)
		where[name] = [2]string{raft[i+1], apis[i+1]}
	}
	start(1, next, "--bootstrap", listed(next))
	start(2, next, "--bootstrap", listed(next))
	start(3, next, "--join", raft[1]+","+raft[2])
	c := dial(t, apis[1], apis[2])
	limit := time.After(childtest.Patience)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		all, err := c.Peers(t.Context())
		moved := 0
		for _, p := range all.Peers {
			if at := where[p.Name]; p.RaftAddress == at[0] && p.Address == at[1] && p.Reachable {
				moved++
			}
		}
		if moved == 3 {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("the peers are %+v: %v", all, err)
		}
	}
}

// A cluster that was off for longer than its certificates live starts again without help, and records the certificates that its peers then
// get.
func TestAClusterThatWasOffForLong(t *testing.T) {
	data := filepath.Join(t.TempDir(), "p1")
	first, err := trust.Found(trust.Member{Name: "p1"}, time.Now().Add(-100*24*time.Hour))
	if err == nil {
		err = trust.Save(filepath.Join(data, trust.Subfolder), first)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := childtest.Start(t, "server", "--data-dir", data, "--id", "p1", "--listen", address(1), "--http", apiAddress(1), "--bootstrap", "p1="+address(1))
	p.Line(t, "certificate_extended")
	p.Line(t, "certificate_renewed")
	api := dial(t, apiAddress(1))
	waitReachable(t, api, 1)
	if _, err := api.Submit(t.Context(), &wire.Submit{Command: "true", User: "username"}, "one"); err != nil {
		t.Error(err)
	}
}

// A certificate of a later generation, which the authority has signed, stops no peer whose nodes renew their leases.
func TestACertificateOfALaterGenerationStopsNoPeer(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for longer than a peer does")
	}
	dir := t.TempDir()
	certifyPeers(t, dir, "p1")
	show := nodeAndLater(t, dir)
	childtest.Start(t, "server", "--data-dir", filepath.Join(dir, "p1"), "--id", "p1", "--listen", address(1), "--http", apiAddress(1), "--bootstrap", "p1="+address(1))
	waitReachable(t, dial(t, apiAddress(1)), 1)
	agent := childtest.Start(t, "agent", "--node", "n1", "--data-dir", filepath.Join(dir, "n1"), "--run-dir", t.TempDir(), "--peers", apiAddress(1), "--simulate-gpus", "1", "--listen", apiAddress(2))
	ask := func() error {
		c, err := client.New(client.Options{Addresses: []string{apiAddress(1)}, Patience: time.Millisecond})
		if err == nil {
			_, err = c.Queue(t.Context(), client.QueueQuery{})
			c.Close()
		}
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range 2 * int(trust.FollowAfter/time.Second) {
		show()
		if err := ask(); err != nil {
			t.Fatalf("while its node renews: %v", err)
		}
		<-tick.C
	}
	agent.Signal(t, syscall.SIGKILL)
	agent.Exit(t)
	limit := time.After(childtest.Patience)
	for {
		show()
		err := ask()
		if err != nil && strings.Contains(err.Error(), "berth cluster recover --generation 3") {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("without a node: %v", err)
		}
	}
}

// nodeAndLater makes a certificate of node n1, and returns what shows one of a later generation to peer p1.
func nodeAndLater(t *testing.T, dir string) (show func()) {
	t.Helper()
	first, err := trust.Load(filepath.Join(dir, "p1", trust.Subfolder))
	if err != nil {
		t.Fatal(err)
	}
	node, err := first.Certify(trust.Member{Role: trust.RoleNode, Name: "n1"}, time.Now())
	if err == nil {
		err = trust.Save(filepath.Join(dir, "n1", trust.Subfolder), node)
	}
	recovered := *first
	recovered.Generation = 2
	later, err2 := recovered.Certify(trust.Member{Role: trust.RolePeer, Name: "p9"}, time.Now())
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	stray, err := trust.NewCredentials(later, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		config := stray.Client()
		config.VerifyConnection = nil // it would refuse the peer first
		if conn, err := cli.DialTLS(config)(t.Context(), "tcp", address(1)); err == nil {
			_ = conn.Close()
		}
	}
}
