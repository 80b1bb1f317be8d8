package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// report is what berth doctor prints as JSON.
type report struct {
	Roles    []roleOf
	Faults   int
	Findings []finding
}

type roleOf struct{ Role, Name string }

type finding struct{ Check, About, Result, Message, Remedy string }

// examine runs berth doctor on a machine. Its exit code is 1 if, and only if, there is a fault.
func (l *lab) examine(t *testing.T, name, options string) *report {
	t.Helper()
	m, err := l.machine(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.command(t.Context(), "sh", "-c", "berth doctor -o json "+options).Output()
	r := &report{}
	if bad := json.Unmarshal(out, r); bad != nil {
		t.Fatalf("%s: %v, %v: %s", name, err, bad, out)
	}
	if (err != nil) != (r.Faults > 0) {
		t.Errorf("%s: %d faults, and berth doctor ends with %v", name, r.Faults, err)
	}
	return r
}

// find returns the finding about a thing.
func find(t *testing.T, r *report, check, about string) finding {
	t.Helper()
	at := slices.IndexFunc(r.Findings, func(f finding) bool { return f.Check == check && f.About == about })
	if at < 0 {
		t.Fatalf("no finding of %s about %q in %+v", check, about, r.Findings)
	}
	return r.Findings[at]
}

// sound reports an error for each finding of a sound machine that is not ok, but for what the host of these tests decides: its clock,
// its disk, its control groups and limits, and that there is no systemd.
func sound(t *testing.T, name string, r *report) {
	t.Helper()
	ofHost := []string{"disk", "cgroups", "limits", "units"}
	for _, f := range r.Findings {
		backup := f.Check == "peer" && f.About == "backup"                                                      // the quick start makes none
		users := f.Check == "accounts" && f.Result == "skipped" && strings.HasSuffix(f.Message, "berth login)") // a node may not list them
		if f.Result != "ok" && !backup && !users && !slices.Contains(ofHost, f.Check) && f.About != "this machine" {
			t.Errorf("%s: %+v", name, f)
		}
		if f.Check == "disk" && f.Result == "fault" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// On a sound cluster berth doctor finds nothing on a peer, a node and the machine of a user. A port of gossip that is
// closed is named, from both sides; so are a peer that is down, and a login of another authority.
func TestDoctor(t *testing.T) {
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("needs nft: apt-get install nftables")
	}
	steps, err := quickStart("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	l := startLab(t, plan())
	if err := l.follow(t.Context(), steps, func(step, string) {}); err != nil {
		t.Fatal(err)
	}
	until(t, "gossip knows all members", func() bool {
		heard := l.ok(t, "p1", "berth peers -o json"+socket) + l.ok(t, "p1", "berth nodes -o json"+socket)
		return strings.Count(heard, `"gossip": "alive"`) == 4
	})
	t.Run("all is well", l.allIsWell)
	t.Run("gossip is closed", l.closedGossip)
	t.Run("TCP is closed", l.closedTCP)
	t.Run("another authority", l.otherAuthority)
}

func (l *lab) allIsWell(t *testing.T) {
	var r *report
	until(t, "all peers vote, and the gossip of each has heard of all", func() bool {
		r = l.examine(t, "p1", "")
		if q := find(t, r, "peer", "quorum"); !strings.Contains(q.Message, "3 voters") { // those that have joined vote after ten seconds
			return false
		}
		return !slices.ContainsFunc(r.Findings, func(f finding) bool { return f.Check == "ports" && f.Result == "skipped" })
	})
	sound(t, "p1", r)
	for _, about := range []string{
		"to peer p2: api, TCP", "to peer p2: raft, TCP", "to peer p3: gossip, TCP", "to node gpu1: agent, TCP", "to node gpu1: gossip, TCP",
		"from peer p2: api, TCP", "from peer p2: raft, TCP", "from peer p3: gossip, TCP", "this machine: raft, TCP", "this machine: gossip, TCP",
	} {
		find(t, r, "ports", about)
	}
	if r.Roles[0] != (roleOf{Role: "peer", Name: "p1"}) {
		t.Errorf("the role of p1 is %+v", r.Roles)
	}
	r = l.examine(t, "gpu1", "")
	sound(t, "gpu1", r)
	for _, about := range []string{"to peer p1: api, TCP", "to peer p1: gossip, TCP", "from peer p2: agent, TCP", "from peer p3: gossip, TCP", "this machine: agent, TCP"} {
		find(t, r, "ports", about)
	}
	if gpus := find(t, r, "driver", "NVML"); !strings.Contains(gpus.Message, "simulated: 4") {
		t.Errorf("%+v", gpus)
	}
	r = l.examine(t, "laptop", "")
	sound(t, "laptop", r)
	find(t, r, "login", "token")
	if r.Roles[0].Role != "client" {
		t.Errorf("the role of the laptop is %+v", r.Roles)
	}
}

// closedGossip drops packets to the gossip of the node, as a firewall does that was opened for the agent alone.
func (l *lab) closedGossip(t *testing.T) {
	l.ok(t, "gpu1", `nft add table ip block
nft 'add chain ip block in { type filter hook input priority 0; }'
nft add rule ip block in tcp dport 7002 drop`)
	for name, about := range map[string]string{"p1": "to node gpu1: gossip, TCP", "gpu1": "from peer p1: gossip, TCP"} { // order-free: each by itself
		r := l.examine(t, name, "")
		f := find(t, r, "ports", about)
		if f.Result != "fault" || !strings.Contains(f.Message, "no answer from 10.0.0.11:7002") || !strings.Contains(f.Remedy, "let TCP port 7002 through firewalls from") {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if out := find(t, l.examine(t, "gpu1", ""), "ports", "to peer p1: gossip, TCP"); out.Result != "ok" {
		t.Errorf("the other direction is open: %+v", out)
	}
	l.ok(t, "gpu1", "nft delete table ip block")
}

// closedTCP drops connections of one peer to the agent, and ends another peer.
func (l *lab) closedTCP(t *testing.T) {
	l.ok(t, "gpu1", `nft add table ip block
nft 'add chain ip block in { type filter hook input priority 0; }'
nft add rule ip block in ip saddr 10.0.0.2 tcp dport 7001 drop`)
	l.ok(t, "p3", "systemctl stop berth-server.service")
	r := l.examine(t, "gpu1", "")
	if f := find(t, r, "ports", "from peer p2: agent, TCP"); f.Result != "fault" || !strings.Contains(f.Remedy, "let TCP port 7001 through firewalls from peer p2 to this machine") {
		t.Errorf("%+v", f)
	}
	if f := find(t, r, "ports", "from peer p1: agent, TCP"); f.Result != "ok" {
		t.Errorf("%+v", f)
	}
	if f := find(t, r, "ports", "to peer p3: api, TCP"); f.Result != "fault" || !strings.Contains(f.Message, "refuses") {
		t.Errorf("%+v", f)
	}
	if f := find(t, l.examine(t, "p3", ""), "peer", "quorum"); f.Result != "fault" || !strings.Contains(f.Remedy, "systemctl start berth-server") {
		t.Errorf("%+v", f)
	}
	l.ok(t, "gpu1", "nft delete table ip block")
	l.ok(t, "p3", "systemctl restart berth-server.service")
	for _, name := range []string{"p1", "p2"} {
		if log := l.ok(t, name, "cat /run/*.log"); strings.Contains(log, `msg="connection refused"`) || strings.Contains(log, "unacceptable label") {
			t.Errorf("%s logs the visits of berth doctor:\n%s", name, log)
		}
	}
}

// otherAuthority puts the authority of another cluster into the login of the laptop.
func (l *lab) otherAuthority(t *testing.T) {
	m, err := l.machine("laptop")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(m.dir, "home", ".config", "berth", "clusters", "*.yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	was, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	other, err := trust.NewAuthority(trust.NewCluster(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^authority: \|\n(    .*\n)+`).ReplaceAllString(string(was), "")
	text += "authority: |\n    " + strings.ReplaceAll(strings.TrimSpace(string(trust.EncodeCertificates(other.Certificate))), "\n", "\n    ") + "\n"
	if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := l.examine(t, "laptop", "")
	if f := r.Findings[slices.IndexFunc(r.Findings, func(f finding) bool { return f.Check == "login" })]; f.Result != "fault" ||
		!strings.Contains(f.Message, "of another authority") || !strings.Contains(f.Remedy, "berth login") {
		t.Errorf("%+v", f)
	}
}
