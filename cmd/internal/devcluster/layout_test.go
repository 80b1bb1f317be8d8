package devcluster

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
)

// No member listens on a port that the kernel gives to connections: while the member is
// down one of them could have it, and the member would not start.
func TestPortsThatNoConnectionTakes(t *testing.T) {
	var low, high int
	kernel, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Skip("needs the range of ports that the kernel gives to connections:", err)
	}
	if _, err := fmt.Sscan(string(kernel), &low, &high); err != nil {
		t.Fatal(err)
	}
	if low < lowestPort+calmPorts {
		t.Skipf("needs ports below the range that the kernel gives to connections: it begins at %d, needed are %d to %d", low, lowestPort, lowestPort+calmPorts)
	}
	members, err := plan(Config{Data: t.TempDir(), HTTP: "127.0.0.1:0", Peers: 3, Nodes: 20})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range members {
		for _, address := range []string{m.Raft, m.Address} {
			if address == "" {
				continue
			}
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := strconv.Atoi(port); err != nil || n >= low && n <= high {
				t.Errorf("%s has %s, which a connection may have", m.Name, address)
			}
			if seen[address] {
				t.Errorf("%s has %s, as another", m.Name, address)
			}
			seen[address] = true
		}
	}
	if len(seen) != 26 {
		t.Errorf("%d addresses", len(seen))
	}
}
