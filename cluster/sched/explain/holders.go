package explain

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/virtual"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of the search for holders of GPUs.
const (
	maxHolders = 64   // looked at as possible ends
	maxLive    = 4096 // live tasks gone through for those of one user
)

// holding is a holder of GPUs, with how many it holds; or of cores, for a job without GPUs.
type holding struct {
	blocker.Holder

	node  model.NodeID // empty: on any node
	gpus  uint32       // that suit
	short uint32       // GPUs that the node lacks of what the task needs there
}

// question is a task that does not start, with its blockers.
type question struct {
	state *state.State
	task  model.TaskKey
	why   []blocker.Blocker
}

// blockedBy reports whether one of the codes keeps the task.
func (q *question) blockedBy(codes ...blocker.Code) bool {
	return slices.ContainsFunc(q.why, func(b blocker.Blocker) bool { return slices.Contains(codes, b.Code) })
}

// endHolders tries the ends of single holders, those of the fewest GPUs first,
// and of two together where one does not suffice.
func (t *trial) endHolders() {
	all := t.holdings()
	known := len(t.found)
	var tried []blocker.Holder
	for _, h := range all {
		if h.gpus >= h.short && len(t.found) < known+maxEnds && !slices.Contains(tried, h.Holder) {
			tried = append(tried, h.Holder)
			t.end(h.Holder)
		}
	}
	if len(t.found) > known {
		return
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if len(t.found) == known+maxEnds {
				return
			}
			if a.Holder != b.Holder && (a.node != b.node || a.gpus+b.gpus >= a.short) {
				t.end(a.Holder, b.Holder)
			}
		}
	}
}

// holdings lists the holders that may help by ending, those with the fewest GPUs first.
func (q *question) holdings() (all []holding) {
	switch {
	case q.blockedBy(blocker.CodeThrottle):
		all = q.ofTasks(func(k model.TaskKey, _ *model.Job) bool { return k.Job == q.task.Job })
	case q.blockedBy(blocker.CodeLimit):
		b := q.why[slices.IndexFunc(q.why, func(b blocker.Blocker) bool { return b.Code == blocker.CodeLimit })]
		all = q.ofScopes(func(project, user string) bool { return slices.Contains(admission.Scopes(project, user), b.Scope) })
	case q.blockedBy(blocker.CodePool):
		all = q.ofPool(&q.why[slices.IndexFunc(q.why, func(b blocker.Blocker) bool { return b.Code == blocker.CodePool })])
	case q.withoutGPUs():
		all = q.ofRooms()
	default:
		all = q.ofNodes()
	}
	slices.SortFunc(all, func(a, b holding) int {
		return cmp.Or(cmp.Compare(a.gpus, b.gpus), a.Compare(b.Holder), a.node.Compare(b.node))
	})
	return all
}

// ofScopes returns the holders of GPUs for which keep accepts the project and the user: tasks, then services.
func (q *question) ofScopes(keep func(project, user string) bool) []holding {
	all := q.ofTasks(func(_ model.TaskKey, job *model.Job) bool { return keep(job.Spec.Project, job.Spec.User) })
	seen := 0
	for id, a := range q.state.Allocations.All() {
		if len(all) >= maxHolders || seen == maxLive {
			break
		}
		if seen++; a.State == model.AllocationActive && keep(a.Project, a.User) {
			all = append(all, holding{Holder: blocker.Holder{Allocation: id}, gpus: a.GPUs})
		}
	}
	return all
}

// ofTasks lists the live tasks that keep accepts.
func (q *question) ofTasks(keep func(model.TaskKey, *model.Job) bool) (all []holding) {
	seen, live := 0, q.state.LiveTasks
	if q.withoutGPUs() {
		live = q.state.LiveCPU
	}
	for k := range live.All() {
		job, _ := q.state.Jobs.Get(k.Job)
		if keep(k, &job) {
			task, _ := q.state.Tasks.Get(k)
			a, _ := q.state.Attempts.Get(task.Newest())
			all = append(all, holding{Holder: blocker.Holder{Task: k}, gpus: a.GPUs})
		}
		if seen++; seen == maxLive || len(all) == maxHolders {
			break
		}
	}
	return all
}

// ofNodes lists the holders of GPUs on nodes where the task's needs may be met, those with the most free GPUs
// first.
func (q *question) ofNodes() (all []holding) {
	demand := place.DemandOf(q.state, q.task)
	visit := func(id model.NodeID) bool {
		all = append(all, q.onNode(id, demand)...)
		return len(all) < maxHolders
	}
	for k := range q.state.ByFree.All() {
		if !visit(k.Node) {
			return all
		}
	}
	for id, use := range q.state.NodeUse.All() {
		if use.Free == 0 && !visit(id) {
			return all
		}
	}
	return all
}

// withoutGPUs reports whether the task is that of a job without GPUs.
func (q *question) withoutGPUs() bool {
	job, found := q.state.Jobs.Get(q.task.Job)
	return found && job.Spec.WithoutGPUs()
}

// ofRooms lists the jobs without GPUs that hold cores of nodes that take work.
func (q *question) ofRooms() (all []holding) {
	for k := range q.state.LiveCPU.All() {
		task, _ := q.state.Tasks.Get(k)
		for _, r := range q.state.RanksOf(task.Newest()) {
			if node, _ := q.state.Nodes.Get(r.Node); node.Schedulable() && !r.Phase.Ended() {
				all = append(all, holding{Holder: blocker.Holder{Task: k}, node: r.Node, gpus: r.CPUs})
			}
		}
		if len(all) >= maxHolders {
			break
		}
	}
	return all
}

// onNode lists the holders of GPUs of one node that suit.
func (q *question) onNode(id model.NodeID, demand *place.Demand) (all []holding) {
	node, _ := q.state.Nodes.Get(id)
	if !node.Schedulable() {
		return nil
	}
	for k := range q.state.NodeGPUs.From(model.AddressKey{Node: id}) {
		if k.Node != id {
			break
		}
		slot, _ := q.state.Slots.Get(model.SlotKey{GPU: k.GPU})
		g, _ := q.state.GPUs.Get(k.GPU)
		live := slot.Owner == model.OwnerAttempt || slot.Owner == model.OwnerAllocation
		if !live || !demand.MayUse(id, &g) {
			continue
		}
		who := blocker.Holder{Task: slot.Rank.Attempt().TaskKey(), Allocation: slot.Allocation}
		i := slices.IndexFunc(all, func(v holding) bool { return v.Holder == who })
		if i < 0 {
			i = len(all)
			all = append(all, holding{Holder: who, node: id})
		}
		all[i].gpus++
	}
	for i := range all {
		all[i].short = demand.Short(id)
	}
	return all
}

// end tries what would happen if holders ended by themselves and their nodes showed the GPUs clean.
func (t *trial) end(who ...blocker.Holder) bool {
	var bodies []command.Body
	for _, h := range who {
		if h.Allocation != "" {
			bodies = append(bodies, virtual.Releases(t.state, h.Allocation)...)
		} else {
			task, _ := t.state.Tasks.Get(h.Task)
			bodies = append(bodies, virtual.Ends(t.state, task.Newest(), model.Exit{})...)
		}
	}
	ends := slices.SortedFunc(slices.Values(who), blocker.Holder.Compare)
	return t.offer(Unblock{Kind: UnblockEnd, Ends: ends}, bodies...)
}
