package sched

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
)

// degraded returns a blocker with the degraded nodes that a task could use otherwise, grouped by what is wrong
// with them. The nodes would take work if they could start jobs.
func (v *Verdict) degraded() []blocker.Blocker {
	nodes, all := map[string][]string{}, int64(0)
	for id, n := range v.planner.State.Nodes.All() {
		if n.Degraded() && n.Mode == model.ModeOpen && v.request.Sites.Has(id) {
			nodes[n.Why()] = append(nodes[n.Why()], string(id))
			all++
		}
	}
	if all == 0 {
		return nil
	}
	why := make([]string, 0, len(nodes))
	for _, trouble := range slices.Sorted(maps.Keys(nodes)) {
		why = append(why, fmt.Sprintf("%s (%s)", trouble, blocker.ListSome(nodes[trouble])))
	}
	if more := len(why) - maxBars; more > 0 {
		why = append(why[:maxBars], fmt.Sprintf("%d other troubles", more))
	}
	return []blocker.Blocker{{
		Code: blocker.CodeDegraded, Need: int64(v.request.PerNode), Nodes: int64(v.request.Nodes), Have: all, Trouble: strings.Join(why, "; "),
	}}
}
