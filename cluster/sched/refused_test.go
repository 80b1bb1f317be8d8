package sched_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// placesOf returns the nodes of a task's newest attempt.
func placesOf(c *schedtest.Cluster, key model.TaskKey) (out []model.NodeID) {
	task, _ := c.State.Tasks.Get(key)
	for _, r := range c.State.RanksOf(task.Newest()) {
		out = append(out, r.Node)
	}
	return out
}

// missing has a node report the users whose account it lacks.
func missing(c *schedtest.Cluster, id model.NodeID, users ...string) {
	n, _ := c.State.Nodes.Get(id)
	b := &command.Inventory{Node: id, Incarnation: model.Incarnation{1}, Epoch: n.Epoch, Missing: users}
	for k := range c.State.NodeGPUs.From(model.AddressKey{Node: id}) {
		if k.Node != id {
			break
		}
		g, _ := c.State.GPUs.Get(k.GPU)
		b.Devices = append(b.Devices, model.Device{ID: g.ID, Index: g.Index, Model: g.Model, MemoryMB: g.MemoryMB, Health: g.Health, Idle: true})
	}
	c.Must(b)
}

// A task that a node has not started is tried on another node while there is one that could run it, even if that is busy
// and the first is free; where there is none it is tried there again.
func TestARefusedTaskGoesElsewhere(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]model.Spec{
		"a GPU":        schedtest.Spec("amy", 1, 0),
		"without GPUs": schedtest.Spec("amy", 0, 1, func(s *model.Spec) { s.CPUs, s.MemoryMB = 1, 100 }),
		"a node":       schedtest.Spec("amy", 8, 1),
	} {
		for _, policy := range []string{model.DefaultPolicy, "fcfs"} {
			for _, alone := range []bool{false, true} {
				c := schedtest.New(t, policy)
				c.Must(&command.SetTuning{Tuning: model.DefaultTuning()})
				c.Node("n1", 8, "H200")
				if !alone {
					c.Node("n2", 8, "H200")
				}
				key := model.TaskKey{Job: c.Submit(job, 1, 0)}
				c.Plan()
				first := placesOf(c, key)[0]
				c.Report(key, model.Progress{Phase: model.RankNever, Detail: "the node's prolog failed"})
				if e, waits := explain.Task(&c.State, c.Now, key); !waits || !strings.Contains(e.Summary, "its last start failed on "+string(first)+": the node's prolog failed") {
					t.Errorf("%s, %s: it is explained by %q", name, policy, e.Summary)
				}
				c.Now = c.Now.Add(10 * time.Second)
				c.Plan()
				if second := placesOf(c, key); len(second) != 1 || (second[0] == first) != alone {
					t.Errorf("%s, %s, on one node: %v: after %s it is tried on %v", name, policy, alone, first, second)
				}
			}
		}
	}
}

// Nodes that lack the account of a user get no jobs of that user. Where all do, the job waits with that reason.
func TestNodesWithoutTheAccount(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]model.Spec{
		"a GPU":        schedtest.Spec("mo", 1, 0),
		"without GPUs": schedtest.Spec("mo", 0, 1, func(s *model.Spec) { s.CPUs, s.MemoryMB = 1, 100 }),
	} {
		c := schedtest.New(t, model.DefaultPolicy)
		c.Must(&command.SetTuning{Tuning: model.DefaultTuning()})
		c.Node("n1", 8, "H200")
		c.Node("n2", 8, "H200")
		missing(c, "n1", "mo")
		one := model.TaskKey{Job: c.Submit(job, 1, 0)}
		c.Plan()
		if got := placesOf(c, one); len(got) != 1 || got[0] != "n2" {
			t.Errorf("%s: it starts on %v", name, got)
		}
		c.Begin(one)
		c.End(one, 0)
		missing(c, "n2", "mo")
		two := model.TaskKey{Job: c.Submit(job, 1, 0)}
		c.Plan()
		e, waits := explain.Task(&c.State, c.Now, two)
		if !waits || !strings.Contains(e.Summary, "n1 and n2 would suit, but its user has no account there") {
			t.Errorf("%s: it is explained by %q", name, e.Summary)
		}
		missing(c, "n1")
		c.Plan()
		if got := placesOf(c, two); len(got) != 1 || got[0] != "n1" {
			t.Errorf("%s: once the account is there it starts on %v", name, got)
		}
	}
}
