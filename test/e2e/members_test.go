package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// exitRemoved is the exit code of a peer that was removed from its cluster.
const exitRemoved = 6

// growing is a cluster whose peers come and go.
type growing struct {
	guarded

	api     *client.Client
	raft    map[string]string
	process map[string]*os.Process
}

// up starts a peer that joins the others, at an address of its own each time.
func (g *growing) up(name string, found bool) {
	g.t.Helper()
	g.raft[name] = freeAddress(g.t)
	how := []string{"--bootstrap", name + "=" + g.raft[name]}
	if !found {
		var others []string
		for other, address := range g.raft { // order-free: all are asked
			if other != name && g.process[other] != nil {
				others = append(others, address)
			}
		}
		how = []string{"--join", strings.Join(others, ",")}
	}
	g.process[name] = g.run(name, append([]string{
		"server", "--id", name, "--data-dir", filepath.Join(g.dir, name), "--listen", g.raft[name], "--http", g.apis[int(name[1]-'1')], "--min-free", "1",
	}, how...)...)
}

// settled waits until these peers are all members there are, reachable at their present addresses, and so many vote.
func (g *growing) settled(votes int, names ...string) {
	g.t.Helper()
	waitFor(g.t, fmt.Sprintf("%d votes of %v", votes, names), func() bool {
		p, err := g.api.Peers(g.t.Context())
		return err == nil && p.Voters == votes && len(p.Peers) == len(names) && !slices.ContainsFunc(p.Peers, func(v wire.Peer) bool {
			return !slices.Contains(names, v.Name) || !v.Reachable || v.RaftAddress != g.raft[v.Name]
		})
	})
}

// remove takes a peer out, whose process ends by itself with the exit code for that.
func (g *growing) remove(name string) {
	g.t.Helper()
	waitFor(g.t, name+" is removed", func() bool { return g.berth("", strings.Join(g.apis, ","), "peers", "remove", name).code == 0 })
	state, err := g.process[name].Wait()
	if err != nil || state.ExitCode() != exitRemoved {
		g.t.Errorf("peer %s has ended with %v, %v", name, state, err)
	}
	delete(g.process, name)
}

// move ends a peer, and starts it at another address.
func (g *growing) move(name string, found bool) {
	g.t.Helper()
	pause(g.t, g.process[name], syscall.SIGTERM)
	if _, err := g.process[name].Wait(); err != nil {
		g.t.Fatal(err)
	}
	g.process[name] = nil
	g.up(name, found)
}

// One peer becomes three, and five, and one again, and each gets another address on the way, while jobs are submitted: no
// submission fails, none is lost, and no job has two ids.
func TestPeersComeAndGoUnderLoad(t *testing.T) {
	t.Parallel()
	g := &growing{
		guarded: guarded{t: t, dir: t.TempDir(), first: make(chan string, 9)}, raft: map[string]string{},
		process: map[string]*os.Process{},
	}
	first := filepath.Join(g.dir, "p1")
	g.ok("", "", "init", "--no-config", "--advertise", "127.0.0.1", "--id", "p1", "--data-dir", first)
	for i := range 5 {
		g.apis = append(g.apis, freeAddress(t))
		if i > 0 {
			name := fmt.Sprintf("p%d", i+1)
			certify(t, first, "peer", name, filepath.Join(g.dir, name))
		}
	}
	var err error
	if g.api, err = client.New(client.Options{Addresses: g.apis}); err != nil {
		t.Fatal(err)
	}
	defer g.api.Close()
	g.up("p1", true)
	g.settled(1, "p1")
	g.move("p1", true) // alone, and those that join must learn the address
	g.settled(1, "p1")
	stop := load(t, g.apis)
	names := []string{"p1", "p2", "p3"}
	g.up("p2", false)
	g.up("p3", false)
	g.settled(3, names...)
	if !testing.Short() {
		names = append(names, "p4", "p5")
		g.up("p4", false)
		g.up("p5", false)
		g.settled(5, names...)
	}
	for _, name := range names {
		g.move(name, false)
		g.settled(len(names), names...)
	}
	for len(names) > 1 {
		last := names[len(names)-1]
		names = names[:len(names)-1]
		g.remove(last)
		if len(names)%2 == 1 {
			g.settled(len(names), names...)
		}
	}
	sent, err := stop()
	if err != nil {
		t.Errorf("one of %d submissions: %v", sent, err)
	}
	last, err := g.api.Submit(t.Context(), &wire.Submit{Command: "true"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := strconv.Atoi(last.JobID); err != nil || id <= sent || id > sent+1+clients { // the last ones were cut off
		t.Errorf("after %d submissions the next job is %s", sent, last.JobID)
	}
	t.Logf("%d submissions", sent)
}
