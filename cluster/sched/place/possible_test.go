package place_test

import (
	"testing"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func TestPossible(t *testing.T) {
	of := func(name string, memory uint32) func(*model.Spec) {
		return func(s *model.Spec) { s.GPUModel, s.GPUMemoryMB = name, memory }
	}
	c := schedtest.New(t, "fcfs")
	empty := schedtest.Spec("amy", 17, 0)
	if ok, why := place.Possible(&c.State, &empty); !ok || why != "the cluster has no nodes yet: the job waits until one registers" {
		t.Errorf("without nodes: %t, %q", ok, why)
	}
	c.Node("n1", 8, "H200")
	c.Node("n2", 8, "H200")
	c.Node("n3", 2, "A100")
	c.Must(&command.SetNodeMode{Node: "n1", Mode: model.ModeCordoned})
	c.Submit(schedtest.Spec("amy", 8, 1), 1, 0)
	c.Plan()
	for _, test := range []struct {
		spec model.Spec
		why  string
	}{
		{schedtest.Spec("amy", 8, 0), ""},
		{schedtest.Spec("amy", 18, 0), ""},
		{schedtest.Spec("amy", 19, 0), "it asks for 19 GPUs: the cluster has 18"},
		{schedtest.Spec("amy", 17, 0, of("H200", 0)), "it asks for 17 GPUs of type H200: the cluster has 16"},
		{schedtest.Spec("amy", 9, 1), "it asks for 9 GPUs on one node: the largest node has 8"},
		{schedtest.Spec("amy", 16, 2), ""},
		{schedtest.Spec("amy", 6, 3), ""},
		{schedtest.Spec("amy", 9, 3), "it asks for 3 nodes with 3 GPUs each: the cluster has 2 nodes of that size"},
		{schedtest.Spec("amy", 2, 2, of("A100", 0)), "it asks for 2 nodes with 1 GPU of type A100 each: the cluster has 1 node of that size"},
		{schedtest.Spec("amy", 1, 0, of("B300", 0)), "the cluster has no GPUs of type B300: its GPUs are A100, H200"},
		{schedtest.Spec("amy", 1, 0, of("h200", 1001)), "the cluster has no GPUs of type h200 with 1.001 GB: the largest has 1 GB"},
		{schedtest.Spec("amy", 17, 0, of("h200", 0)), "it asks for 17 GPUs of type h200: the cluster has 16"},
		{schedtest.Spec("amy", 1, 0, of("", 1001)), "the cluster has no GPUs with 1.001 GB: the largest has 1 GB"},
	} {
		ok, why := place.Possible(&c.State, &test.spec)
		if ok != (test.why == "") || why != test.why {
			t.Errorf("%d GPUs on %d nodes: %t, %q; want %q", test.spec.GPUs, test.spec.Nodes, ok, why, test.why)
		}
	}
}

// What is broken can come back and does not make a job impossible; a GPU that its node does not list
// any more does.
func TestPossibleCountsWhatIsBroken(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 2, "H200", func(d *model.Device) { d.Health = model.HealthQuarantined })
	two := schedtest.Spec("amy", 2, 1)
	if ok, why := place.Possible(&c.State, &two); !ok {
		t.Errorf("refused: %s", why)
	}
	node, _ := c.State.Nodes.Get("n1")
	c.Must(&command.Inventory{Node: "n1", Incarnation: model.Incarnation{1}, Epoch: node.Epoch})
	if got, _ := c.State.GPUs.Get("n1-g0"); got.Health != model.HealthMissing {
		t.Fatalf("the GPU is %s", got.Health)
	}
	if ok, _ := place.Possible(&c.State, &two); ok {
		t.Error("a job is taken for GPUs that are gone")
	}
}
