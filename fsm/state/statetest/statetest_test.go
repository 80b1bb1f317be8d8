package statetest

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

// The package's own example: a job's normal life, in commands only.
func TestACluster(t *testing.T) {
	c := New(t)
	n := c.Node("n1", 8)
	job := c.Submit(4)
	a := c.Place(job)
	c.Start(a)
	if row, _ := c.State.Attempts.Get(a); row.State != model.TaskRunning {
		t.Fatalf("a started attempt is %s", row.State)
	}
	c.Exit(a, 0)
	if use, _ := c.State.NodeUse.Get("n1"); use.Owned != 4 || use.Free != 4 {
		t.Fatalf("after the end the node counts %+v", use)
	}
	n.Clean()
	if use, _ := c.State.NodeUse.Get("n1"); use.Free != 8 {
		t.Fatalf("after cleaning the node counts %+v", use)
	}
}

// A gang without a number of nodes spreads over what is free, first node first.
func TestPlacementSpreads(t *testing.T) {
	c := New(t)
	c.Node("n1", 2)
	c.Node("n2", 4)
	b := c.Placement(model.TaskKey{Job: c.Submit(5)})
	if len(b.Ranks) != 2 || len(b.Ranks[0].Slots) != 2 || len(b.Ranks[1].Slots) != 3 {
		t.Fatalf("placed as %+v", b.Ranks)
	}
	if b := c.Placement(model.TaskKey{Job: c.Submit(7)}); b != nil {
		t.Fatalf("7 GPUs found on a cluster of 6: %+v", b)
	}
}
