package cores

import (
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Possible reports whether a job without GPUs could ever run on the nodes that the cluster has, no matter what is held
// or open there now. If it could not, why is what the cluster lacks. On a cluster without nodes every job is possible,
// and why is that the job waits for a node.
func Possible(s *state.State, spec *model.Spec) (ok bool, why string) {
	if s.Nodes.Len() == 0 {
		return true, "the cluster has no nodes yet: the job waits until one registers"
	}
	w := &request{asked: spec.Holds(), nodes: int(max(spec.Nodes, 1)), sites: place.SitesCache{}.Of(s, place.WhereOf(s, spec, false)).Soon()}
	b := never(s, w)
	if b == nil {
		return true, ""
	}
	return false, b.Message()
}
