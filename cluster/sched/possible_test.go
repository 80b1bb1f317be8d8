package sched_test

import (
	"testing"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func TestPossible(t *testing.T) {
	of := func(name string, memory uint32) func(*model.Spec) {
		return func(s *model.Spec) { s.GPUModel, s.GPUMemoryMB = name, memory }
	}
	c := newCluster(t, "fcfs")
	empty := spec("amy", 17, 0)
	if ok, why := place.Possible(&c.s, &empty); !ok || why != "the cluster has no nodes yet: the job waits until one registers" {
		t.Errorf("without nodes: %t, %q", ok, why)
	}
	c.node("n1", 8, "H200")
	c.node("n2", 8, "H200")
	c.node("n3", 2, "A100")
	c.must(&command.SetNodeMode{Node: "n1", Mode: model.ModeCordoned})
	c.submit(spec("amy", 8, 1), 1, 0)
	c.plan()
	for _, test := range []struct {
		spec model.Spec
		why  string
	}{
		{spec("amy", 8, 0), ""},
		{spec("amy", 18, 0), ""},
		{spec("amy", 19, 0), "it asks for 19 GPUs: the cluster has 18"},
		{spec("amy", 17, 0, of("H200", 0)), "it asks for 17 GPUs of type H200: the cluster has 16"},
		{spec("amy", 9, 1), "it asks for 9 GPUs on one node: the largest node has 8"},
		{spec("amy", 16, 2), ""},
		{spec("amy", 6, 3), ""},
		{spec("amy", 9, 3), "it asks for 3 nodes with 3 GPUs each: the cluster has 2 nodes of that size"},
		{spec("amy", 2, 2, of("A100", 0)), "it asks for 2 nodes with 1 GPU of type A100 each: the cluster has 1 node of that size"},
		{spec("amy", 1, 0, of("B300", 0)), "the cluster has no GPUs of type B300: its GPUs are A100, H200"},
		{spec("amy", 1, 0, of("h200", 1001)), "the cluster has no GPUs of type h200 with 1.001 GB: the largest has 1 GB"},
		{spec("amy", 17, 0, of("h200", 0)), "it asks for 17 GPUs of type h200: the cluster has 16"},
		{spec("amy", 1, 0, of("", 1001)), "the cluster has no GPUs with 1.001 GB: the largest has 1 GB"},
	} {
		ok, why := place.Possible(&c.s, &test.spec)
		if ok != (test.why == "") || why != test.why {
			t.Errorf("%d GPUs on %d nodes: %t, %q; want %q", test.spec.GPUs, test.spec.Nodes, ok, why, test.why)
		}
	}
}

// What is broken can come back and does not make a job impossible; a GPU that its node does not list
// any more does.
func TestPossibleCountsWhatIsBroken(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 2, "H200", func(d *model.Device) { d.Health = model.HealthQuarantined })
	two := spec("amy", 2, 1)
	if ok, why := place.Possible(&c.s, &two); !ok {
		t.Errorf("refused: %s", why)
	}
	node, _ := c.s.Nodes.Get("n1")
	c.must(&command.Inventory{Node: "n1", Incarnation: model.Incarnation{1}, Epoch: node.Epoch})
	if got, _ := c.s.GPUs.Get("n1-g0"); got.Health != model.HealthMissing {
		t.Fatalf("the GPU is %s", got.Health)
	}
	if ok, _ := place.Possible(&c.s, &two); ok {
		t.Error("a job is taken for GPUs that are gone")
	}
}
