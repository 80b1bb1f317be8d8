package apply

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// drawAdopt adopts an attempt that the state does not know, if there is one: mostly as it is, sometimes with a part of it or
// for another user.
func drawAdopt(g *gen) command.Body {
	b := &command.Adopt{Texts: []string{"#!/bin/sh\nmake\n"}, Placed: []uint64{uint64(g.roll(50))}, Attempts: []command.Place{{}}}
	b.Job = command.ImportedJob{ID: model.JobID(1 + g.roll(9)), Script: 1, Tasks: 1, Spec: model.Spec{
		User: anybody(g), Class: model.ClassNormal, GPUs: 1, OnLost: model.OnLostRequeue, DisconnectGrace: 5 * time.Minute,
		Grace: 30 * time.Second,
	}}
	a := &b.Attempts[0]
	ranks := map[uint32]*command.Placement{}
	most := uint32(0)
	for key, slot := range g.s.Slots.All() {
		if slot.Owner != model.OwnerForeign || a.Attempt.N != 0 && slot.Rank.Attempt() != a.Attempt {
			continue
		}
		if a.Attempt.N == 0 {
			a.Attempt = slot.Rank.Attempt()
		}
		node, _ := g.s.Nodes.Get(slot.Node)
		p := ranks[slot.Rank.Rank]
		if p == nil {
			p = &command.Placement{Node: slot.Node, Epoch: node.Epoch}
			ranks[slot.Rank.Rank] = p
		}
		p.Slots = append(p.Slots, key)
		most = max(most, slot.Rank.Rank)
	}
	for n := range most + 1 {
		if p := ranks[n]; p != nil {
			a.Ranks = append(a.Ranks, *p)
		}
	}
	if a.Attempt.N == 0 {
		node := anyNode(g)
		a.Attempt = model.AttemptKey{Job: b.Job.ID, N: 1}
		a.Ranks = []command.Placement{{Node: node, Epoch: 1, Slots: []model.SlotKey{{GPU: gpuID(node, 0)}}}}
	}
	b.Job.ID = a.Attempt.Job
	if job, known := g.s.Jobs.Get(b.Job.ID); known && g.roll(8) > 0 {
		b.Job.Spec.User = job.Spec.User
	}
	if b.Job.Spec.GPUs = 0; len(a.Ranks) > 1 {
		b.Job.Spec.Nodes = uint32(len(a.Ranks))
	}
	for i := range a.Ranks {
		b.Job.Spec.GPUs += uint32(len(a.Ranks[i].Slots))
	}
	if a.Attempt.Task > 0 {
		b.Job.Spec.Array = model.Indices{a.Attempt.Task}.String()
	}
	if g.roll(8) == 0 && len(a.Ranks[0].Slots) > 1 {
		a.Ranks[0].Slots = a.Ranks[0].Slots[:1]
	}
	return b
}
