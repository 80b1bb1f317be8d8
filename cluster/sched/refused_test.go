package sched_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// placesOf returns the nodes of a task's newest attempt.
func placesOf(c *cluster, key model.TaskKey) (out []model.NodeID) {
	task, _ := c.s.Tasks.Get(key)
	for _, r := range c.s.RanksOf(task.Newest()) {
		out = append(out, r.Node)
	}
	return out
}

// missing has a node report the users whose account it lacks.
func (c *cluster) missing(id model.NodeID, users ...string) {
	n, _ := c.s.Nodes.Get(id)
	b := &command.Inventory{Node: id, Incarnation: model.Incarnation{1}, Epoch: n.Epoch, Missing: users}
	for k := range c.s.NodeGPUs.From(model.AddressKey{Node: id}) {
		if k.Node != id {
			break
		}
		g, _ := c.s.GPUs.Get(k.GPU)
		b.Devices = append(b.Devices, model.Device{ID: g.ID, Index: g.Index, Model: g.Model, MemoryMB: g.MemoryMB, Health: g.Health, Idle: true})
	}
	c.must(b)
}

// A task that a node has not started is tried on another node while there is one that could run it, even if that is busy
// and the first is free; where there is none it is tried there again.
func TestARefusedTaskGoesElsewhere(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]model.Spec{
		"a GPU":        spec("amy", 1, 0),
		"without GPUs": spec("amy", 0, 1, func(s *model.Spec) { s.CPUs, s.MemoryMB = 1, 100 }),
		"a node":       spec("amy", 8, 1),
	} {
		for _, policy := range []string{queue.DefaultPolicy, "fcfs"} {
			for _, alone := range []bool{false, true} {
				c := newCluster(t, policy)
				c.must(&command.SetTuning{Tuning: model.DefaultTuning()})
				c.node("n1", 8, "H200")
				if !alone {
					c.node("n2", 8, "H200")
				}
				key := model.TaskKey{Job: c.submit(job, 1, 0)}
				c.plan()
				first := placesOf(c, key)[0]
				c.report(key, model.Progress{Phase: model.RankNever, Detail: "the node's prolog failed"})
				if e, waits := explain.Task(&c.s, c.now, key); !waits || !strings.Contains(e.Summary, "its last start failed on "+string(first)+": the node's prolog failed") {
					t.Errorf("%s, %s: it is explained by %q", name, policy, e.Summary)
				}
				c.now = c.now.Add(10 * time.Second)
				c.plan()
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
		"a GPU":        spec("mo", 1, 0),
		"without GPUs": spec("mo", 0, 1, func(s *model.Spec) { s.CPUs, s.MemoryMB = 1, 100 }),
	} {
		c := newCluster(t, queue.DefaultPolicy)
		c.must(&command.SetTuning{Tuning: model.DefaultTuning()})
		c.node("n1", 8, "H200")
		c.node("n2", 8, "H200")
		c.missing("n1", "mo")
		one := model.TaskKey{Job: c.submit(job, 1, 0)}
		c.plan()
		if got := placesOf(c, one); len(got) != 1 || got[0] != "n2" {
			t.Errorf("%s: it starts on %v", name, got)
		}
		c.begin(one)
		c.end(one, 0)
		c.missing("n2", "mo")
		two := model.TaskKey{Job: c.submit(job, 1, 0)}
		c.plan()
		e, waits := explain.Task(&c.s, c.now, two)
		if !waits || !strings.Contains(e.Summary, "n1 and n2 would suit, but its user has no account there") {
			t.Errorf("%s: it is explained by %q", name, e.Summary)
		}
		c.missing("n1")
		c.plan()
		if got := placesOf(c, two); len(got) != 1 || got[0] != "n1" {
			t.Errorf("%s: once the account is there it starts on %v", name, got)
		}
	}
}
