package apply_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// TestCostsOfEntries holds what the most frequent entries allocate over a queue of 10,000 jobs. It is not parallel, since other tests would
// count.
func TestCostsOfEntries(t *testing.T) {
	c := statetest.New(t)
	c.Unchecked = true
	var renew command.Renew
	for n := range 50 {
		id := c.Node(model.NodeID(fmt.Sprint("n", n)), 8).ID
		renew.Renewals = append(renew.Renewals, command.Renewal{Node: id, Incarnation: statetest.Incarnation(1), Epoch: 1})
	}
	submit := &command.Submit{Tasks: 1, Spec: model.Spec{
		Name: "train", User: "ann", Project: "vision", Class: model.ClassNormal, Priority: 5, Command: "python train.py --config base.yaml",
		GPUs: 1, OnLost: model.OnLostRequeue, DisconnectGrace: 5 * time.Minute, Grace: 30 * time.Second, TimeLimit: time.Hour,
	}}
	batch := func(n int) (list []command.Command) {
		for range n {
			list = append(list, c.Command(submit))
		}
		return list
	}
	for range 100 {
		c.Entry(batch(100)...)
	}
	s := c.State
	entry := func(commands ...command.Command) {
		next, results, _ := apply.Apply(s, state.Meta{Index: s.Index + 1, Term: 1, At: s.Settings().Clock.Add(time.Millisecond), By: "p1"}, commands)
		for i := range results {
			if !results[i].OK() {
				t.Fatalf("%s: %s %s", commands[i].Kind(), results[i].Code, results[i].Detail)
			}
		}
		s = next
	}
	one, many := batch(1), batch(32)
	for _, v := range []struct {
		what string
		most statetest.Cost
		run  func()
	}{
		{"an entry of one submission", statetest.Cost{Allocations: 176, Bytes: 28_400}, func() { entry(one...) }},
		{"an entry of 32 submissions", statetest.Cost{Allocations: 990, Bytes: 167_000}, func() { entry(many...) }},
		{"an entry of 50 renewals", statetest.Cost{Allocations: 323, Bytes: 36_400}, func() {
			for i := range renew.Renewals {
				renew.Renewals[i].Seq++
			}
			entry(c.Command(&renew))
		}},
	} {
		statetest.CheckCost(t, v.what, v.most, 100, v.run)
	}
}
