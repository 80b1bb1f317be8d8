package step

import (
	"testing"

	"github.com/berth-gpu/berth/slurm/run/link"
)

// TestReportGroups checks that ends of one node with one status become one message.
func TestReportGroups(t *testing.T) {
	t.Parallel()
	r := newReport(7, &link.Created{Tasks: 4, Nodes: []link.Place{{Name: "a", Ranks: []int{0, 1, 2}}, {Name: "b", Ranks: []int{3}}}})
	for _, rank := range []int{2, 0, 3, 1} {
		if !r.take(link.Frame{Kind: link.KindExit, Body: link.Exit(rank, 7<<8)}) {
			t.Errorf("the end of task %d is none", rank)
		}
	}
	if len(r.pending) != 2 || r.pending[0].node != "a" || tasks(r.pending[0].ranks) != "tasks 0-2" || tasks(r.pending[1].ranks) != "task 3" || r.code != 7 ||
		r.open() != 0 {
		t.Errorf("%+v, exit code %d", r.pending, r.code)
	}
}
