package sched_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// TestEveryPlanIsAccepted plans on random clusters: Apply takes every command, and
// jobs go exactly where best fit puts them when it is said simply.
func TestEveryPlanIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.RandomCluster(t)
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			schedtest.Step(t, c, nodes)
			request, got := naive(c), nodesOf(c)
			if !slices.Equal(got, request) {
				t.Fatalf("placed %v, best fit places %v", got, request)
			}
			c.Plan()
		}
	})
}

// nodesOf is a plan as text: tasks and allocations with their nodes.
func nodesOf(c *schedtest.Cluster) (out []string) {
	for _, line := range c.Drawn() {
		who, at := "", ""
		for i, word := range splitRanks(line) {
			if i == 0 {
				who = word
			} else {
				at += " " + word
			}
		}
		out = append(out, who+at)
	}
	return out
}

// splitRanks is "1:", "n1", "n2" of "1: n1[0 1] n2[0]".
func splitRanks(line string) (out []string) {
	word, inside := "", false
	for _, r := range line + " " {
		switch {
		case r == '[':
			inside = true
		case r == ']':
			inside = false
		case inside:
		case r == ' ':
			out, word = append(out, word), ""
		default:
			word += string(r)
		}
	}
	return out
}

// naive goes through all that waits, each alone on a copy of the state that it
// changes at once if what it asks for fits. Tasks for which GPUs are kept come first with these, and
// those of them that still wait for some keep their places within their limits, too.
func naive(c *schedtest.Cluster) (placed []string) {
	on, gpus := c.Copied(), planned(c)
	kept := keptFor(c)
	var held []model.TaskKey
	for i, key := range append(kept, schedtest.Sorted(c)...) {
		_, job := c.Asks(key)
		own, before := i < len(kept), on.State
		others := slices.DeleteFunc(slices.Clone(held), func(k model.TaskKey) bool { return k == key })
		at, starts := naiveStart(on, fits(on, &job.Spec, key, own), key, gpus[key])
		switch {
		case starts && !own && !within(on, others):
			on.State = before
		case starts:
			line := calledIn(&c.State, key) + ":"
			for _, r := range at {
				line += " " + string(r.Node)
			}
			placed = append(placed, line)
			held = others
		case own && within(on, []model.TaskKey{key}):
			held = append(held, key)
		}
	}
	return placed
}

// naiveStart starts a task at the first of some places that Apply takes. Which GPUs of a node it gets is as
// planned, since others may keep off some of the rest.
func naiveStart(c *schedtest.Cluster, places [][]command.Placement, key model.TaskKey, planned []command.Placement) ([]command.Placement,
	bool,
) {
	for _, at := range places {
		if slices.EqualFunc(at, planned, func(a, b command.Placement) bool { return a.Node == b.Node && len(a.Slots) == len(b.Slots) }) {
			at = planned
		}
		if schedtest.Tried(c, c.Start(key, at)) {
			return at, true
		}
	}
	return nil, false
}

// planned lists where a plan puts each task and service.
func planned(c *schedtest.Cluster) map[model.TaskKey][]command.Placement {
	out := map[model.TaskKey][]command.Placement{}
	bodies, _ := sched.Plan(&c.State, c.Now)
	for _, b := range bodies {
		switch b := b.(type) {
		case *command.Place:
			out[b.Attempt.TaskKey()] = b.Ranks
		case *command.Grant:
			a, _ := c.State.Allocations.Get(b.ID)
			out[a.Turn] = []command.Placement{b.Placement}
		}
	}
	return out
}

// within says that nothing but a want of GPUs keeps tasks back.
func within(c *schedtest.Cluster, tasks []model.TaskKey) bool {
	for _, key := range tasks {
		e, _ := explain.Task(&c.State, c.Now, key)
		if slices.ContainsFunc(e.Blockers, func(b blocker.Blocker) bool { return slices.Contains(byItself, b.Code) }) {
			return false
		}
	}
	return true
}

// byItself lists what keeps tasks back whatever is free.
var byItself = []blocker.Code{
	blocker.CodeHeld, blocker.CodeDependency, blocker.CodeBegin, blocker.CodeBackoff, blocker.CodeThrottle, blocker.CodeLimit,
	blocker.CodeRunTime,
	blocker.CodeGPUHours, blocker.CodePool,
}

// keptFor lists the tasks for which GPUs are kept.
func keptFor(c *schedtest.Cluster) (keys []model.TaskKey) {
	for k := range c.State.ClaimedFor.All() {
		keys = append(keys, k.Task)
	}
	return slices.Compact(keys)
}

// fits is where a task goes with all that it asks for, and then with fewer and fewer.
func fits(c *schedtest.Cluster, spec *model.Spec, who model.TaskKey, own bool) (out [][]command.Placement) {
	each := spec.GPUs / max(spec.Nodes, 1)
	for gpus := spec.GPUs; gpus >= spec.Least(); gpus-- {
		if spec.Nodes > 1 && gpus%each != 0 {
			continue
		}
		if at := bestFit(c, spec, who, int(gpus), own); at != nil {
			out = append(out, at)
		}
	}
	return out
}

// room is a node as one task sees it.
type room struct {
	node  model.Node
	whole bool            // nothing is there
	free  int             // GPUs that it may take, of whatever kind
	suits []model.SlotKey // those of them that suit, its own first
}

// rooms lists the nodes, those with the fewest free GPUs first; widest is the
// most GPUs that suit on any node, whoever has them. With own, only what is kept
// for the task suits.
func rooms(c *schedtest.Cluster, spec *model.Spec, who model.TaskKey, own bool) (out []room, widest int) {
	bad := failing(c, spec, who)
	for _, n := range c.State.Nodes.All() {
		r, all, kept := room{node: n, whole: true}, 0, []model.SlotKey(nil)
		for k := range c.State.NodeGPUs.From(model.AddressKey{Node: n.ID}) {
			if k.Node != n.ID {
				break
			}
			g, _ := c.State.GPUs.Get(k.GPU)
			suits := suits(c, spec, who, &g) && !bad[g.ID]
			slot, _ := c.State.Slots.Get(model.SlotKey{GPU: k.GPU})
			claim, claimed := c.State.Claims.Get(slot.Key)
			r.whole = r.whole && slot.Owner == model.OwnerNone && !claimed
			if suits {
				all++
			}
			if slot.Owner != model.OwnerNone || !n.Schedulable() || claimed && claim.Beneficiary != who {
				continue
			}
			r.free++
			if suits && claimed {
				kept = append(kept, slot.Key)
			} else if suits && !own {
				r.suits = append(r.suits, slot.Key)
			}
		}
		r.suits = append(kept, r.suits...)
		out, widest = append(out, r), max(widest, all)
	}
	slices.SortStableFunc(out, func(a, b room) int { return cmp.Compare(a.free, b.free) })
	return out, widest
}

func suits(c *schedtest.Cluster, spec *model.Spec, who model.TaskKey, g *model.GPU) bool {
	n, _ := c.State.Nodes.Get(g.Node)
	zone, zoned := n.Is().Get("zone")
	_, spot := n.Is().Get("spot")
	among := func(list string) bool { return slices.Contains(strings.Split(list, ","), string(n.ID)) }
	meets := map[string]bool{"": true, "zone=a": zone == "a", "!zone": !zoned, "zone!=b": zone != "b", "spot": spot}
	private := n.Accounts == model.AccountsOwn && n.Account != spec.User && !who.IsTurn()
	return !private && meets[spec.Constraint] && (spec.Nodelist == "" || among(spec.Nodelist)) && !among(spec.Exclude) &&
		(spec.GPUModel == "" || strings.Contains(strings.ToUpper(spec.GPUModel), g.Model)) && g.MemoryMB >= spec.GPUMemoryMB
}

// failing lists the GPUs that have just failed a task, if the others could run it.
func failing(c *schedtest.Cluster, spec *model.Spec, who model.TaskKey) map[model.GPUID]bool {
	task, _ := c.State.Tasks.Get(who)
	a, found := c.State.Attempts.Get(who.Attempt(task.Avoid))
	bad := map[model.GPUID]bool{}
	for k := range c.State.RankGPUs.All() {
		bad[k.GPU] = bad[k.GPU] || found && task.Avoid > 0 && k.Rank == a.Key.Rank(a.FirstRank-1)
	}
	left := map[model.NodeID]uint32{}
	for id, g := range c.State.GPUs.All() {
		if n, _ := c.State.Nodes.Get(g.Node); suits(c, spec, who, &g) && !bad[id] && g.Usable() && n.Schedulable() {
			left[g.Node]++
		}
	}
	all, large, each, nodes := uint32(0), uint32(0), spec.Least(), uint32(1)
	if spec.Nodes > 1 {
		each = spec.GPUs / spec.Nodes
		nodes = (spec.Least() + each - 1) / each
	}
	for _, n := range left {
		all += n
		if n >= each {
			large++
		}
	}
	if spec.Nodes > 0 && large < nodes || spec.Nodes == 0 && all < spec.Least() {
		return nil
	}
	return bad
}

// bestFit is where a task goes with so many GPUs, with own on what is kept for it; nil if they fit nowhere.
func bestFit(c *schedtest.Cluster, spec *model.Spec, who model.TaskKey, gpus int, own bool) []command.Placement {
	rooms, widest := rooms(c, spec, who, own)
	ranks, each, asked := 1, gpus, int(spec.GPUs)
	if spec.Nodes > 1 {
		each = int(spec.GPUs / spec.Nodes)
		ranks = gpus / each
	}
	var out []command.Placement
	for _, r := range byStrategy(c, spec, rooms, each) {
		if len(r.suits) >= each && len(out) < ranks {
			out = append(out, r.give(each))
		}
	}
	switch {
	case len(out) == ranks:
		return out
	case spec.Nodes > 0 || asked <= widest:
		return nil
	}
	return spread(rooms, each)
}

// wholeLast moves nodes on which there is nothing behind the others, unless they
// are filled.
func wholeLast(rooms []room, each int) []room {
	out := slices.Clone(rooms)
	breaks := func(r room) bool { return r.whole && r.free > each }
	slices.SortStableFunc(out, func(a, b room) int {
		switch {
		case breaks(a) != breaks(b) && breaks(b), breaks(a) == breaks(b) && a.free == b.free && b.whole && !a.whole:
			return -1
		case breaks(a) != breaks(b), a.free == b.free && a.whole && !b.whole:
			return 1
		}
		return cmp.Compare(a.free, b.free)
	})
	return out
}

// byStrategy orders nodes as a job wants them.
func byStrategy(c *schedtest.Cluster, spec *model.Spec, rooms []room, each int) []room {
	if spec.Placement == "" || spec.Placement == "least_loaded" {
		return wholeLast(rooms, each)
	}
	rooms = slices.Clone(rooms)
	given := func(r room) uint64 {
		use, _ := c.State.NodeUse.Get(r.node.ID)
		return use.Given
	}
	slices.SortStableFunc(rooms, func(a, b room) int {
		if spec.Placement == "spread" {
			return cmp.Compare(b.free, a.free)
		}
		return cmp.Compare(given(a), given(b))
	})
	return rooms
}

// spread takes from the node with most, and the rest from the one that holds it
// and has the fewest free.
func spread(rooms []room, left int) (out []command.Placement) {
	for len(rooms) > 0 {
		for _, r := range wholeLast(rooms, left) {
			if len(r.suits) >= left {
				return append(out, r.give(left))
			}
		}
		best := len(rooms) - 1
		for i := len(rooms) - 1; i >= 0; i-- {
			same := len(rooms[i].suits) == len(rooms[best].suits) && rooms[i].free == rooms[best].free
			if len(rooms[i].suits) > len(rooms[best].suits) || same {
				best = i
			}
		}
		if len(rooms[best].suits) == 0 {
			return nil
		}
		out = append(out, rooms[best].give(len(rooms[best].suits)))
		left -= len(rooms[best].suits)
		rooms = slices.Delete(rooms, best, best+1)
	}
	return nil
}

func (r *room) give(n int) command.Placement {
	return command.Placement{Node: r.node.ID, Epoch: r.node.Epoch, Slots: r.suits[:n]}
}
