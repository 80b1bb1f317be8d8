package main

import (
	"maps"
	"os/exec"
	"strings"
	"testing"
)

// socket is the option by which root asks the peer of the machine.
const socket = " --address unix:/var/lib/berth/server/admin.sock"

// IPv6 is enough: the quick start works on machines without an IPv4 address, and gossip knows all members.
func TestMachinesOverIPv6(t *testing.T) {
	steps, err := quickStart("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	six := map[string]string{}
	for name, address := range plan() { // order-free: a map of the same
		six[name] = "fd00::" + address[strings.LastIndex(address, ".")+1:]
	}
	for i := range steps {
		for name, address := range plan() { // order-free: no address is the beginning of another with its port
			steps[i].text = strings.ReplaceAll(steps[i].text, address+":", "["+six[name]+"]:")
		}
	}
	l := startLab(t, six)
	last := ""
	if err := l.follow(t.Context(), steps, func(_ step, out string) { last = out }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(last, "a GPU: ") {
		t.Errorf("the job printed %q", last)
	}
	until(t, "gossip knows all members", func() bool {
		heard := l.ok(t, "p1", "berth peers -o json"+socket) + l.ok(t, "p1", "berth nodes -o json"+socket)
		return strings.Count(heard, `"gossip": "alive"`) == 4
	})
	if peers := l.ok(t, "p2", "berth peers"+socket); !strings.Contains(peers, "[fd00::3]:10000") || strings.Contains(peers, "10.0.0.") {
		t.Errorf("the peers are\n%s", peers)
	}
}

// A node behind a router with address translation takes part by the address outside: jobs run there, their output comes back, and gossip
// hears the node.
func TestNodeBehindARouter(t *testing.T) {
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("nft is missing: apt-get install nftables")
	}
	steps, err := quickStart("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	machines := maps.Clone(plan())
	machines["router"], machines["gpu2"] = "10.0.0.99", "192.168.7.2"
	l := startLab(t, machines)
	if err := l.follow(t.Context(), steps, func(step, string) {}); err != nil {
		t.Fatal(err)
	}
	l.ok(t, "router", "ip addr add 192.168.7.254/24 dev eth0; sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.eth0.send_redirects=0")
	l.ok(t, "router", `nft add table ip nat
nft 'add chain ip nat in { type nat hook prerouting priority -100; }'
nft 'add chain ip nat out { type nat hook postrouting priority 100; }'
nft add rule ip nat in ip daddr 10.0.0.99 tcp dport '{ 7001, 7002 }' dnat to 192.168.7.2
nft add rule ip nat out ip saddr 192.168.7.2 masquerade`)
	join := func(more string) (string, error) {
		token := strings.TrimSpace(l.ok(t, "p1", "berth token join node 2>/dev/null"))
		return l.do(t, "gpu2", "echo "+token+" | berth join node --address 10.0.0.1:10000"+more)
	}
	if out, err := join(""); err == nil || !strings.Contains(out, "192.168.7.2:7001 does not lead from peer") {
		t.Errorf("by the address inside: %v: %s", err, out)
	}
	if out, err := join(" --advertise 10.0.0.99"); err != nil {
		t.Fatalf("by the address outside: %v: %s", err, out)
	}
	l.hasNoDriver(t, "gpu2")
	l.ok(t, "gpu2", "useradd -m ann")
	until(t, "the node is up", func() bool { return strings.Contains(l.ok(t, "p1", "berth nodes"+socket), "gpu2  up") })
	if out := l.ok(t, "laptop", "berth run -g 1 -w gpu2 -- hostname"); !strings.Contains(out, "gpu2") {
		t.Errorf("the job printed %q", out)
	}
	alive := func() bool {
		return strings.Count(l.ok(t, "p1", "berth nodes -o json"+socket), `"gossip": "alive"`) == 2
	}
	until(t, "gossip hears both nodes", alive)
}
