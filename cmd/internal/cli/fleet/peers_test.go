package fleet

import (
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// The list of peers shows what each of them reports, and nothing of one that does not answer.
func TestPeersAreShown(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := showPeers(&out, &wire.Peers{Leader: "p1", Term: 3, Peers: []wire.Peer{
		{
			Name: "p1", Role: "leader", Voter: true, Reachable: true, AppliedIndex: 90, Lag: new(uint64(0)), LeaderContact: new(0.0), SnapshotAge: new(3600.0),
			SnapshotBytes: 5 << 20,
			DiskFreeBytes: 30 << 30, DiskTotalBytes: 40 << 30, MemoryBytes: 80 << 20,
		},
		{Name: "p2", Role: "follower", Voter: true, Reachable: true, AppliedIndex: 80, Lag: new(uint64(10)), LeaderContact: new(0.4)},
		{Name: "p3", Role: "follower"},
	}})
	lines := strings.Split(out.String(), "\n")
	if err != nil || len(lines) != 5 {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for i, want := range [][]string{{"1:00:00, 5.0 MiB", "30.0 GiB (75%)", "80.0 MiB", "0.0s"}, {" 10 ", "0.4s"}, {"unreachable"}} {
		for _, text := range want {
			if !strings.Contains(lines[i+1], text) {
				t.Errorf("%q lacks %q", lines[i+1], text)
			}
		}
	}
}

// The list of nodes shows the version of each agent.
func TestNodesHaveVersions(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := showNodes(&out, &wire.Nodes{Nodes: []wire.Node{{ID: "n1", State: "up", Version: "v1.0.4"}}}); err != nil || !strings.Contains(out.String(), "v1.0.4") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
