package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/test/internal/sources"
)

// program builds the programs of this tree, once, and returns the path of berth.
var program = sync.OnceValues(func() (string, error) {
	if err := sources.Read("../.."); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "berth-hosts-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "berth")
	out, err := exec.Command("go", "build", "-o", dir, "../../cmd/berth", "../../cmd/berthd").CombinedOutput()
	if err != nil {
		return path, fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path)) // which is in the folder of temporary files
	}
	os.Exit(code)
}

// startLab starts machines with these addresses, with the program of this tree. The tests of labs, which wait most of the time, run in
// parallel.
func startLab(t *testing.T, plan map[string]string) *lab {
	t.Helper()
	t.Parallel()
	if err := missing(); err != nil {
		t.Skip(err)
	}
	berth, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	units, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLab(filepath.Join(dir, "lab"), berth, units)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			l.logs(t)
		}
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.bootAll(plan); err != nil {
		t.Fatal(err)
	}
	return l
}

// logs prints the logs of all programs.
func (l *lab) logs(t *testing.T) {
	t.Helper()
	for _, m := range l.machines {
		out, err := m.command(context.Background(), "sh", "-c", "tail -n 20 /run/*.log").CombinedOutput()
		t.Logf("%s: %v\n%s", m.name, err, out)
	}
}

// The quick start of the README works as it is written there, on machines with networks of their own. On the cluster that
// it makes, a machine with an address that others cannot reach does not join, and the loss of any machine of a peer costs
// nothing but an election.
func TestMachines(t *testing.T) {
	steps, err := quickStart("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	l := startLab(t, plan())
	t.Run("the quick start", func(t *testing.T) {
		began, last := time.Now(), ""
		if err := l.follow(t.Context(), steps, func(_ step, out string) { last = out }); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(last, "a GPU: ") {
			t.Errorf("the job printed %q", last)
		}
		t.Logf("%d commands, from nothing to the end of the first job: %s", len(steps), time.Since(began).Round(time.Millisecond))
	})
	if t.Failed() {
		return
	}
	t.Run("a wrong address", l.wrongAddress)
	t.Run("a firewall", l.firewall)
	t.Run("gossip", l.gossip)
	t.Run("a rotation", l.rotation)
	t.Run("a cut", l.cutLeader)
	t.Run("a removal", l.removal)
}

// hasNoDriver lets the agent of a machine that has joined simulate GPUs.
func (l *lab) hasNoDriver(t *testing.T, name string) {
	t.Helper()
	m, err := l.machine(name)
	if err == nil {
		err = m.withoutDriver(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// do runs a command on a machine, and returns all that it printed.
func (l *lab) do(t *testing.T, name, script string) (string, error) {
	t.Helper()
	m, err := l.machine(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.command(t.Context(), "sh", "-c", script).CombinedOutput()
	return string(out), err
}

// ok is do for a command that must succeed.
func (l *lab) ok(t *testing.T, name, script string) string {
	t.Helper()
	out, err := l.do(t, name, script)
	if err != nil {
		t.Fatalf("%s# %s: %v\n%s", name, script, err, out)
	}
	return out
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited two minutes in vain: %s", what)
		}
	}
}

// wrongAddress: the address of another network card, as of a VPN or of a virtual machine's first card, is refused before
// anything is recorded; the same token is good with the right one.
func (l *lab) wrongAddress(t *testing.T) {
	l.ok(t, "laptop", "ip addr add 192.168.99.2/24 dev lo")
	l.ok(t, "p1", "berth token join node >/etc/berth/token 2>/dev/null")
	token := l.ok(t, "p1", "cat /etc/berth/token")
	join := "echo " + strings.TrimSpace(token) + " | berth join node --address 10.0.0.2:10000 --no-start"
	if out, err := l.do(t, "laptop", join+" --advertise 192.168.99.2"); err == nil || !strings.Contains(out, "192.168.99.2:7001 does not lead from peer") {
		t.Errorf("%v: %s", err, out)
	}
	if after := l.ok(t, "p1", "berth cert list"); strings.Contains(after, "laptop") {
		t.Errorf("recorded:\n%s", after)
	}
	if out := l.ok(t, "laptop", join); !strings.Contains(out, "This machine is node laptop") {
		t.Errorf("with the right address: %s", out)
	}
}

// firewall: a machine that the leader cannot reach does not join, although its own requests get through.
func (l *lab) firewall(t *testing.T) {
	l.ok(t, "laptop", "ip route add blackhole 10.0.0.1")
	token := strings.TrimSpace(l.ok(t, "p1", "berth token join peer 2>/dev/null"))
	out, err := l.do(t, "laptop", "echo "+token+" | berth join peer --address 10.0.0.2:10000 --no-start")
	if err == nil || !strings.Contains(out, "open the port in firewalls") {
		t.Errorf("%v: %s", err, out)
	}
}

// gossip: all members know one another; a node that is cut off is silent for the others within seconds, gets no new work
// long before its lease is over, and is alive again when it is back.
func (l *lab) gossip(t *testing.T) {
	alive := func(what string) string {
		return l.ok(t, "p1", "berth "+what+" -o json --address unix:/var/lib/berth/server/admin.sock")
	}
	until(t, "gossip knows all members", func() bool {
		return strings.Count(alive("peers"), `"gossip": "alive"`) == 3 && strings.Count(alive("nodes"), `"gossip": "alive"`) == 1
	})
	m, err := l.machine("gpu1")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cut(true); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	until(t, "the node is silent", func() bool { return strings.Contains(alive("nodes"), `"gossip": "silent"`) })
	t.Logf("silent in gossip after %s", time.Since(began).Round(100*time.Millisecond))
	until(t, "the node gets no new work", func() bool { return strings.Contains(alive("nodes"), `"state": "suspect"`) })
	t.Logf("suspect after %s", time.Since(began).Round(100*time.Millisecond))
	if err := m.cut(false); err != nil {
		t.Fatal(err)
	}
	until(t, "the node is back", func() bool {
		now := alive("nodes")
		return strings.Contains(now, `"state": "up"`) && strings.Contains(now, `"gossip": "alive"`)
	})
}

// rotation: the authority is replaced on all machines. A machine that joined and was never started is
// waited for until its certificate is revoked. Gossip goes on, and the login of a user stays valid.
func (l *lab) rotation(t *testing.T) {
	const agent = "/var/lib/berth/agent/trust/"
	root := l.ok(t, "gpu1", "cat "+agent+"authorities.pem")
	l.ok(t, "p1", "berth cluster rotate ca --no-wait")
	until(t, "only the machine that was not started is missing", func() bool {
		return strings.Contains(l.ok(t, "p1", "berth cluster rotate"), "4 of 5 members know the next authority; waiting for node laptop.")
	})
	l.ok(t, "p1", "berth cert revoke node laptop")
	done := func(what string) {
		t.Helper()
		until(t, what+" is replaced", func() bool {
			return strings.Contains(l.ok(t, "p1", "berth cluster rotate"), "No rotation is under way. 4 of 4 members use")
		})
	}
	done("the authority")
	until(t, "gossip goes on with the next certificates", func() bool {
		heard := l.ok(t, "p2", "berth peers -o json --address unix:/var/lib/berth/server/admin.sock") + l.ok(t, "p2", "berth nodes -o json --address unix:/var/lib/berth/server/admin.sock")
		return strings.Count(heard, `"gossip": "alive"`) == 4
	})
	if after := l.ok(t, "gpu1", "cat "+agent+"authorities.pem"); after == root || strings.Count(after, "BEGIN") != 1 {
		t.Errorf("the node trusts\n%s", after)
	}
	for range 2 { // the first command learns the next authority
		l.ok(t, "laptop", "berth queue")
	}
	token := strings.TrimSpace(l.ok(t, "p1", "berth token join node --name laptop 2>/dev/null"))
	if out := l.ok(t, "laptop", "echo "+token+" | berth join node --address 10.0.0.2:10000 --renew"); !strings.Contains(out, "This machine is node laptop") {
		t.Errorf("the machine that the rotation has left out joins again: %s", out)
	}
	if stored := l.ok(t, "laptop", "cat $HOME/.config/berth/clusters/*.yaml"); strings.Count(stored, "BEGIN") != 1 {
		t.Errorf("the user's machine trusts\n%s", stored)
	}
}

// cutLeader: the machine of the leader is taken off the network while a job runs; another peer leads, the job goes on, and
// the machine comes back.
func (l *lab) cutLeader(t *testing.T) {
	until(t, "three peers vote", func() bool {
		return strings.Contains(l.ok(t, "laptop", "berth cluster status"), "3 with a vote: the loss of one more costs nothing")
	})
	id := strings.Fields(l.ok(t, "laptop", "berth submit -g 1 -- sleep 600"))[2]
	l.ok(t, "laptop", "berth queue")
	until(t, "the job runs", func() bool { return strings.Contains(l.ok(t, "laptop", "berth show "+id), "running") })
	leader := func(at string) string {
		out, err := l.do(t, at, "berth peers --address unix:/var/lib/berth/server/admin.sock")
		for line := range strings.SplitSeq(out, "\n") {
			if f := strings.Fields(line); err == nil && len(f) > 1 && f[1] == "leader" {
				return f[0]
			}
		}
		return ""
	}
	first := leader("p1")
	m, err := l.machine(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cut(true); err != nil {
		t.Fatal(err)
	}
	other := map[string]string{"p1": "p2", "p2": "p3", "p3": "p2"}[first]
	until(t, "another peer leads", func() bool { next := leader(other); return next != "" && next != first })
	if err := m.cut(false); err != nil {
		t.Fatal(err)
	}
	until(t, "the machine is back", func() bool { return leader(first) != "" && leader(first) != first })
	until(t, "the job goes on", func() bool { return strings.Contains(l.ok(t, "laptop", "berth show "+id), "running") })
}

// The steps are the lines with a prompt, without their comments.
func TestQuickStartIsRead(t *testing.T) {
	t.Parallel()
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "README.md")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	steps, err := quickStart(write("# Berth\n\n" + heading + "\n\ntext\n\n```\np1#   berth init   # makes it\nprinted\nann$  berth run -- echo '# 1'\n```\n\n```\np1# no\n```\n"))
	if err != nil || len(steps) != 2 || steps[0] != (step{"p1", "#", "berth init"}) || steps[1].text != "berth run -- echo '# 1'" {
		t.Errorf("%+v, %v", steps, err)
	}
	for _, text := range []string{"# Berth\n", "# Berth\n\n" + heading + "\n\ntext\n", "# Berth\n\n" + heading + "\n\n```\nprinted\n```\n"} {
		if steps, err := quickStart(write(text)); err == nil {
			t.Errorf("%q: %+v", text, steps)
		}
	}
}

// removal: a peer that is removed ends by itself with the code that keeps systemd from starting it again, and its
// certificate is refused. The leader itself can go, too.
func (l *lab) removal(t *testing.T) {
	for _, name := range []string{"p1", "p2"} {
		if out := l.ok(t, "p3", "berth peers remove "+name); !strings.Contains(out, "peer "+name+" is removed") {
			t.Errorf("%s", out)
		}
		until(t, name+" has ended", func() bool {
			_, err := l.do(t, name, "systemctl is-active -- berth-server.service")
			return err != nil
		})
		if log := l.ok(t, name, "tail -n 1 /run/berth-server.service.log"); !strings.Contains(log, "was removed from the cluster") {
			t.Errorf("%s ended with %s", name, log)
		}
	}
	if out := l.ok(t, "p3", "berth cluster status"); !strings.Contains(out, "1 peer, 1 with a vote: the loss of one more stops the cluster") {
		t.Errorf("%s", out)
	}
	if out, err := l.do(t, "p3", "berth peers remove p3"); err == nil || !strings.Contains(out, "the cluster would stop") {
		t.Errorf("the last peer: %v: %s", err, out)
	}
}

// A peer goes on alone after the others are lost, with its jobs; the lost ones, when they come back, change nothing, and
// other machines join.
func TestALostMajority(t *testing.T) {
	steps, err := quickStart("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	l := startLab(t, plan())
	if err := l.follow(t.Context(), steps, func(step, string) {}); err != nil {
		t.Fatal(err)
	}
	until(t, "three peers vote", func() bool {
		return strings.Contains(l.ok(t, "p1", "berth cluster status"), "3 with a vote: the loss of one more costs nothing")
	})
	id := strings.Fields(l.ok(t, "laptop", "berth submit -g 1 -- sleep 600"))[2]
	until(t, "the job runs", func() bool { return strings.Contains(l.ok(t, "laptop", "berth show "+id), "running") })
	for _, name := range []string{"p1", "p2", "p3"} {
		l.ok(t, name, "systemctl stop berth-server.service")
	}
	if out, err := l.do(t, "p3", "berth cluster recover --address 10.0.0.3:7000"); err == nil || !strings.Contains(out, "nothing was changed") {
		t.Errorf("without --yes: %v: %s", err, out)
	}
	if out := l.ok(t, "p3", "berth cluster recover --address 10.0.0.3:7000 --yes"); !strings.Contains(out, "generation 2, with") {
		t.Errorf("%s", out)
	}
	l.ok(t, "p3", "systemctl restart berth-server.service")
	until(t, "the peer leads alone", func() bool {
		out, err := l.do(t, "p3", "berth cluster status")
		return err == nil && strings.Contains(out, "1 peer, 1 with a vote")
	})
	for _, name := range []string{"p1", "p2"} { // a majority of the former generation
		l.ok(t, name, "systemctl restart berth-server.service")
	}
	l.ok(t, "laptop", "sed -i s/10.0.0.1/10.0.0.3/ $HOME/.config/berth/clusters/default.yaml")
	until(t, "the agent follows", func() bool {
		return strings.Contains(l.ok(t, "p3", "berth nodes --address unix:/var/lib/berth/server/admin.sock"), "gpu1  up")
	})
	l.ok(t, "laptop", "berth queue")
	former := "sed s/10.0.0.3/10.0.0.1/ $HOME/.config/berth/clusters/default.yaml >$HOME/former.yaml; chmod 600 $HOME/former.yaml; mv $HOME/former.yaml $HOME/.config/berth/clusters/former.yaml; berth queue --login former"
	if out, err := l.do(t, "laptop", former); err == nil || !strings.Contains(out, "left behind by a recovery") {
		t.Errorf("a user is answered by the former majority: %v: %s", err, out)
	}
	if out := l.ok(t, "p3", "berth queue --address unix:/var/lib/berth/server/admin.sock"); !strings.Contains(out, "running") {
		t.Errorf("the job:\n%s", out)
	}
	l.ok(t, "p1", "systemctl stop berth-server.service; rm -rf /var/lib/berth/server /etc/berth/berth.yaml; true")
	l.ok(t, "p1", "rm -rf /var/lib/berth/*; echo "+strings.TrimSpace(l.ok(t, "p3", "berth token join peer 2>/dev/null"))+" | berth join peer --address 10.0.0.3:10000 --id p4")
	until(t, "a new peer is there", func() bool { return strings.Contains(l.ok(t, "p3", "berth cluster status"), "2 peers, 1 with a vote") })
	if out := l.ok(t, "p3", "berth peers"); strings.Contains(out, "p2") {
		t.Errorf("a lost peer is a member:\n%s", out)
	}
}
