package e2e

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// clients is how many clients submit at once, and pace the time between two submissions of each.
const (
	clients = 2
	pace    = 10 * time.Millisecond
)

// load submits jobs until it is stopped, and returns how many submissions were acknowledged, and the first error.
func load(t *testing.T, apis []string) (stop func() (sent int, err error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var work sync.WaitGroup
	sent := 0
	var failed error
	for range clients {
		api, err := client.New(client.Options{Addresses: apis})
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			defer api.Close()
			tick := time.NewTicker(pace)
			defer tick.Stop()
			for ctx.Err() == nil {
				<-tick.C
				_, err := api.Submit(ctx, &wire.Submit{Command: "true"}, "")
				mu.Lock()
				if err == nil {
					sent++
				} else if ctx.Err() == nil && failed == nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	return func() (int, error) {
		cancel()
		work.Wait()
		return sent, failed
	}
}

// authorities returns the hashes of the authorities that a member trusts.
func authorities(t *testing.T, data string) (hashes []string) {
	t.Helper()
	out, err := exec.Command(program(), "cert", "show", data).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "authority" {
			hashes = append(hashes, f[1])
		}
	}
	return hashes
}

func (g *guarded) rotation(at string) (v wire.Rotation) {
	g.t.Helper()
	if err := json.Unmarshal([]byte(g.ok("", at, "cluster", "rotate", "-o", "json")), &v); err != nil {
		g.t.Fatal(err)
	}
	return v
}

// All keys and certificates are replaced twice under load: no request fails, no job ends, and no other peer leads. A member
// that does not answer is waited for. Certificates by the former authority are refused afterwards.
func TestKeysAreReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	g := startPeers(t, "2160h")
	at := g.follower()
	agents := map[string]*os.Process{}
	for _, name := range []string{"n1", "n2"} {
		agents[name] = g.run(name, "agent", "--node", name, "--data-dir", filepath.Join(g.dir, name), "--gpus", "sim:4", "--shared-account", "--peers", strings.Join(g.apis, ","))
	}
	waitFor(t, "the nodes are there", func() bool { return strings.Count(g.berth("", at, "nodes").out, " up ") == 2 })
	api, err := client.New(client.Options{Addresses: g.apis})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	long, err := api.Submit(t.Context(), &wire.Submit{Command: "sleep 600", Nodelist: []string{"n2"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the long job runs", func() bool {
		d, _, err := api.Job(t.Context(), long.JobID, client.JobQuery{})
		return err == nil && d.State == "running"
	})
	before, err := api.Peers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stolen, err := trust.Load(filepath.Join(g.dir, "p1", "trust"))
	if err != nil {
		t.Fatal(err)
	}
	first := authorities(t, filepath.Join(g.dir, "n1"))
	stop := load(t, g.apis)
	for _, what := range []string{"leaf", "ca"} {
		out := g.ok("", at, "cluster", "rotate", what)
		if !strings.Contains(out, "5 of 5 members") {
			t.Errorf("%s: %s", what, out)
		}
	}
	g.waitsFor(at, agents["n2"])
	sent, err := stop()
	if err != nil {
		t.Errorf("one of %d submissions: %v", sent, err)
	}
	t.Logf("%d submissions", sent)
	last := authorities(t, filepath.Join(g.dir, "n2"))
	if len(first) != 1 || len(last) != 1 || slices.Equal(first, last) || !slices.Equal(last, authorities(t, filepath.Join(g.dir, "p3"))) {
		t.Errorf("the authorities were %v and are %v", first, last)
	}
	d, _, err := api.Job(t.Context(), long.JobID, client.JobQuery{})
	if err != nil || d.State != "running" || d.Attempts != 1 {
		t.Errorf("the long job is %+v, %v", d, err)
	}
	after, err := api.Peers(t.Context())
	if err != nil {
		t.Error(err)
	}
	t.Logf("the term was %d and is %d: on a machine with too much to do leaders change without a cause here", before.Term, after.Term)
	g.refusesFormer(stolen)
}

// waitsFor: a rotation waits for node n2, which does not answer for a while.
func (g *guarded) waitsFor(at string, n2 *os.Process) {
	t := g.t
	t.Helper()
	pause(t, n2, syscall.SIGSTOP)
	g.ok("", at, "cluster", "rotate", "ca", "--no-wait")
	waitFor(t, "all but n2 know the next authority", func() bool { return g.rotation(at).Missing == 1 })
	if v := g.rotation(at); v.Step != 1 || v.Steps != 2 || v.Behind[0] != (wire.Member{Role: "node", Name: "n2"}) {
		t.Errorf("without n2: %+v", v)
	}
	if s := g.berth("", at, "cluster", "rotate", "leaf"); s.code == 0 || !strings.Contains(s.err, "under way") {
		t.Errorf("a second rotation: %+v", s)
	}
	pause(t, n2, syscall.SIGCONT)
	waitFor(t, "the rotation is complete", func() bool { v := g.rotation(at); return v.Rotation == "" && v.Missing == 0 })
}

// refusesFormer: a certificate by a former authority is refused, and one by the present authority is not.
func (g *guarded) refusesFormer(stolen *trust.Material) {
	t := g.t
	t.Helper()
	n1, err := trust.Load(filepath.Join(g.dir, "n1", "trust"))
	if err != nil {
		t.Fatal(err)
	}
	forged, err := stolen.Certify(trust.Member{Role: trust.RoleNode, Name: "n1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	forged.Authorities = n1.Authorities
	for m, accepted := range map[*trust.Material]bool{n1: true, forged: false} {
		own, err := trust.NewCredentials(m, time.Now, nil)
		if err != nil {
			t.Fatal(err)
		}
		calls, err := client.NewAgent(client.Options{Addresses: g.apis, Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
			return trust.Dial(ctx, nil, address, own.Client())
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := calls.ConfirmTrust(t.Context(), 1); (err == nil) != accepted {
			t.Errorf("a certificate by the present authority (%v): %v", accepted, err)
		}
		calls.Close()
	}
}

// pause stops a process, or lets it go on.
func pause(t *testing.T, p *os.Process, s syscall.Signal) {
	t.Helper()
	if err := p.Signal(s); err != nil {
		t.Fatal(err)
	}
}
