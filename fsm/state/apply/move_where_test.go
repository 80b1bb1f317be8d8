package apply_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

func labelsOf(c *statetest.Cluster, id model.NodeID) string {
	n, _ := c.State.Nodes.Get(id)
	return n.Is().String()
}

// What an operator says of labels goes before the agent's word, and outlives it.
func TestLabelsOutliveRegistrations(t *testing.T) {
	c := statetest.New(t)
	n := c.Node("n1", 1)
	say := func(changes string) { c.Do(&command.SetNodeLabels{Node: "n1", Changes: changes}) }
	register := func(labels string) { n.Register(func(b *command.Register) { b.Labels = labels }) }
	for _, v := range []struct {
		do   func()
		want string
	}{
		{func() { register("rack=1,zone=a") }, "rack=1,zone=a"},
		{func() { say("ssd,zone=b") }, "rack=1,ssd,zone=b"},
		{func() { register("rack=2,zone=a") }, "rack=2,ssd,zone=b"},
		{func() { say("rack-,ssd-") }, "zone=b"},
		{func() { register("rack=3,ssd,zone=a") }, "ssd,zone=b"},
		{func() { say("rack=9") }, "rack=9,ssd,zone=b"},
		{func() { register("") }, "rack=9,zone=b"},
		{func() { say("rack-,zone-") }, ""},
	} {
		if v.do(); labelsOf(c, "n1") != v.want {
			t.Errorf("it has %q, want %q", labelsOf(c, "n1"), v.want)
		}
	}
	wantCode(t, c.Try(&command.SetNodeLabels{Node: "n9", Changes: "a"}), model.CodeNotFound)
	for i := range 64 {
		say(fmt.Sprint("k", i))
	}
	wantCode(t, c.Try(&command.SetNodeLabels{Node: "n1", Changes: "more"}), model.CodeLimit)
	if _, err := command.New("op", &command.SetNodeLabels{Node: "n1", Changes: "b,a"}); err == nil {
		t.Error("labels out of order are taken")
	}
	if _, err := command.New("op", &command.Register{
		Node: "n1", Machine: "m", Boot: "b", Lineage: "l", Session: "s", Labels: "zone-",
	}); err == nil {
		t.Error("an agent takes a label away")
	}
}

// A placement on a node that the job does not want is refused, as are GPUs of no
// model that it names; what runs stays when labels change.
func TestPlacementsAreWhereTheJobWants(t *testing.T) {
	c := statetest.New(t)
	for _, id := range []model.NodeID{"n1", "n2", "n3"} {
		c.Node(id, 2)
	}
	c.Do(&command.SetNodeLabels{Node: "n2", Changes: "zone=a"})
	for _, v := range []struct {
		change  func(*model.Spec)
		allowed string
	}{
		{func(s *model.Spec) { s.Constraint = "zone=a" }, "n2"},
		{func(s *model.Spec) { s.Constraint = "!zone" }, "n1 n3"},
		{func(s *model.Spec) { s.Nodelist = "n1,n2" }, "n1 n2"},
		{func(s *model.Spec) { s.Exclude = "n2" }, "n1 n3"},
		{func(s *model.Spec) { s.GPUModel = "other|" + modelOf(c) }, "n1 n2 n3"},
		{func(s *model.Spec) { s.GPUModel = "any|other" }, ""},
		{func(s *model.Spec) { s.GPUModel = "any|" + strings.ToLower(modelOf(c)) }, "n1 n2 n3"},
		{func(s *model.Spec) { s.GPUModel = modelOf(c) + "0" }, ""},
	} {
		var allowed []string
		for _, id := range []model.NodeID{"n1", "n2", "n3"} {
			job := c.Submit(1, func(b *command.Submit) {
				v.change(&b.Spec)
				b.Spec.GPUModel = model.SortModels(b.Spec.GPUModel)
			})
			n, _ := c.State.Nodes.Get(id)
			a := model.TaskKey{Job: job}.Attempt(1)
			r := c.Try(&command.Place{Attempt: a, Decided: c.State.Index, Ranks: []command.Placement{
				{Node: id, Epoch: n.Epoch, Slots: []model.SlotKey{{GPU: model.GPUID(id) + "-0"}}},
			}})
			if r.OK() {
				allowed = append(allowed, string(id))
				c.Exit(a, 0)
			}
			c.Try(cancel(job))
			statetestClean(c, id)
		}
		if got := strings.Join(allowed, " "); got != v.allowed {
			t.Errorf("placed on %q, want %q", got, v.allowed)
		}
	}
	job := c.Submit(1, func(b *command.Submit) { b.Spec.Constraint = "zone=a" })
	a := c.Place(job)
	c.Do(&command.SetNodeLabels{Node: "n2", Changes: "zone-"})
	c.Start(a)
	wantTask(t, c, job, model.TaskRunning, model.ReasonNone)
}

// A service's GPUs are where its request has them.
func TestGrantsAreWhereTheServiceWants(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 1)
	c.Do(&command.Allocate{ID: "web", User: "svc", Class: model.ClassNormal, GPUs: 1, Constraint: "zone=a"})
	n, _ := c.State.Nodes.Get("n1")
	grant := &command.Grant{ID: "web", Decided: 1, Placement: command.Placement{
		Node: "n1", Epoch: n.Epoch, Slots: []model.SlotKey{{GPU: "n1-0"}},
	}}
	wantCode(t, c.Try(grant), model.CodeConflict)
	c.Do(&command.SetNodeLabels{Node: "n1", Changes: "zone=a"})
	c.Do(grant)
}

func modelOf(c *statetest.Cluster) string {
	g, _ := c.State.GPUs.Get("n1-0")
	return g.Model
}

// statetestClean has a node show all its GPUs clean.
func statetestClean(c *statetest.Cluster, id model.NodeID) {
	n, _ := c.State.Nodes.Get(id)
	b := &command.Report{Node: id, Incarnation: c.State.Settings().Incarnation, Epoch: n.Epoch}
	for _, k := range c.State.Desired(id).Clean {
		b.Cleaned = append(b.Cleaned, model.Cleaned{Slot: k.Slot, Rank: k.Rank, Allocation: k.Allocation})
	}
	c.Do(b)
}

// A job that takes fewer GPUs has its granted number counted everywhere, also for its nodes.
func TestFewerGPUs(t *testing.T) {
	c, slots := threeNodes(t)
	for _, v := range []struct {
		gpus, nodes, least uint32
		at                 []command.Placement
		takes              bool
	}{
		{4, 0, 2, []command.Placement{slots("n1", 1)}, false},
		{4, 0, 2, []command.Placement{slots("n1", 2)}, true},
		{4, 0, 2, []command.Placement{slots("n1", 4)}, true},
		{3, 0, 2, []command.Placement{slots("n1", 4)}, false},
		{4, 1, 2, []command.Placement{slots("n1", 1), slots("n2", 1)}, false},
		{4, 1, 2, []command.Placement{slots("n1", 3)}, true},
		{6, 3, 1, []command.Placement{slots("n1", 2)}, true},
		{6, 3, 1, []command.Placement{slots("n1", 1)}, false},
		{6, 3, 3, []command.Placement{slots("n1", 2)}, false},
		{6, 3, 3, []command.Placement{slots("n1", 2), slots("n2", 2)}, true},
		{6, 3, 3, []command.Placement{slots("n1", 1), slots("n2", 3)}, false},
		{4, 0, 0, []command.Placement{slots("n1", 3)}, false},
	} {
		job := c.Submit(v.gpus, func(b *command.Submit) { b.Spec.Nodes, b.Spec.MinGPUs = v.nodes, v.least })
		a := model.TaskKey{Job: job}.Attempt(1)
		r := c.Try(&command.Place{Attempt: a, Decided: c.State.Index, Ranks: v.at})
		if r.OK() != v.takes {
			t.Errorf("%d GPUs on %d nodes, %d at least: %v is answered %q %s", v.gpus, v.nodes, v.least, v.at, r.Code, r.Detail)
		}
		if r.OK() {
			wantCounted(t, c, a, v.nodes, v.at)
			c.Start(a)
			c.Exit(a, 0)
		}
		c.Try(cancel(job))
		for _, id := range []model.NodeID{"n1", "n2", "n3"} {
			statetestClean(c, id)
		}
	}
}

func TestFewerGPUsWithinLimits(t *testing.T) {
	c, slots := threeNodes(t)
	c.Do(&command.SetLimit{Limit: model.Limit{
		Scope: model.ScopeKey{Kind: model.ScopeUser, Name: "alice"}, GPUs: model.Unlimited, Live: model.Unlimited,
		Queued: model.Unlimited, GPUsPerJob: 3,
	}})
	wantCode(t, c.Try(statetest.Job(8, func(b *command.Submit) { b.Spec.MinGPUs = 4 })), model.CodeLimit)
	job := c.Submit(8, func(b *command.Submit) { b.Spec.MinGPUs = 3 })
	a := model.TaskKey{Job: job}.Attempt(1)
	wantCode(t, c.Try(&command.Place{Attempt: a, Ranks: []command.Placement{slots("n1", 4)}}), model.CodeLimit)
	wantCode(t, c.Try(&command.Place{Attempt: a, Ranks: []command.Placement{slots("n1", 3)}}), model.CodeOK)
}

// threeNodes returns a cluster of three nodes of four GPUs, and the first ones of a node.
func threeNodes(t *testing.T) (c *statetest.Cluster, slots func(id model.NodeID, n int) command.Placement) {
	c = statetest.New(t)
	for _, id := range []model.NodeID{"n1", "n2", "n3"} {
		c.Node(id, 4)
	}
	return c, func(id model.NodeID, n int) command.Placement {
		node, _ := c.State.Nodes.Get(id)
		p := command.Placement{Node: id, Epoch: node.Epoch}
		for i := range n {
			p.Slots = append(p.Slots, model.SlotKey{GPU: model.GPUID(fmt.Sprintf("%s-%d", id, i))})
		}
		return p
	}
}

// wantCounted checks that the granted GPUs are counted, and sent to the attempt's nodes.
func wantCounted(t *testing.T, c *statetest.Cluster, a model.AttemptKey, nodes uint32, at []command.Placement) {
	t.Helper()
	var got uint32
	for _, p := range at {
		got += uint32(len(p.Slots))
	}
	use, _ := c.State.Usage.Get(model.ScopeKey{Kind: model.ScopeUser, Name: "alice"})
	told := c.State.Desired("n1").Ranks[0].Spec
	if use.GPUs != got || attempt(c, a).GPUs != got || told.GPUs != got || told.MinGPUs != 0 || nodes > 0 && told.Nodes != uint32(len(at)) {
		t.Errorf("of %d GPUs it counts %d used, %d of the attempt, and tells %+v", got, use.GPUs, attempt(c, a).GPUs, told)
	}
}
