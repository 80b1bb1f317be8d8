package state

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// Desired returns what should be on a node: every rank that has not ended, every slot that waits to be
// verified as clean, and the GPUs that services have. An unknown node has an empty set of epoch 0, on which
// no agent acts.
func (s *State) Desired(id model.NodeID) model.Desired {
	node, _ := s.Nodes.Get(id)
	d := model.Desired{Incarnation: s.Settings().Incarnation, Index: s.Index, Node: id, Epoch: node.Epoch}
	for k := range s.NodeRanks.From(NodeRankKey{Node: id}) {
		if k.Node != id {
			break
		}
		if r, _ := s.Ranks.Get(k.Rank); r.Orphan == 0 {
			d.Ranks = append(d.Ranks, s.assignment(k.Rank))
		}
	}
	for k := range s.NodeGPUs.From(model.AddressKey{Node: id}) {
		if k.Node != id {
			break
		}
		slot, _ := s.Slots.Get(model.SlotKey{GPU: k.GPU})
		if slot.Owner == model.OwnerAllocation {
			d.Lent = append(d.Lent, k.GPU)
		}
		if slot.Owner == model.OwnerCleaning || (slot.Owner == model.OwnerForeign && slot.Kill) {
			d.Clean = append(d.Clean, model.Cleaning{Slot: slot.Key, Rank: slot.Rank, Allocation: slot.Allocation, Kill: slot.Kill})
		}
	}
	return d
}

// DesiredIndex returns the log index at which the desired set of a node last changed.
func (s *State) DesiredIndex(id model.NodeID) uint64 {
	u, _ := s.NodeUse.Get(id)
	return u.Desired
}

func (s *State) assignment(k model.RankKey) model.Assignment {
	a, _ := s.Attempts.Get(k.Attempt())
	job, _ := s.Jobs.Get(k.Job)
	out := model.Assignment{
		Rank: k, Placed: a.PlacedIndex, Frozen: a.Frozen, Run: a.Run, Stop: a.Stop,
		Spec: job.Spec.Granted(a.GPUs, a.Ranks), Script: job.Script, Env: job.Env, Stdin: job.Stdin, SubmitEnv: job.SubmitEnv,
	}
	task, _ := s.Tasks.Get(k.Attempt().TaskKey())
	r, _ := s.Ranks.Get(k)
	out.Preempted, out.Phase = task.Preempted, r.Phase
	for _, slot := range s.SlotsOf(k) {
		out.GPUs = append(out.GPUs, slot.GPU)
	}
	slices.SortFunc(out.GPUs, func(a, b model.GPUID) int {
		x, _ := s.GPUs.Get(a)
		y, _ := s.GPUs.Get(b)
		return cmp.Or(cmp.Compare(x.Index, y.Index), a.Compare(b))
	})
	if a.Run {
		out.Secret = a.Secret
		for _, r := range s.RanksOf(a.Key) {
			out.Gang = append(out.Gang, model.Mate{Rank: r.Key.Rank, Node: r.Node, Address: r.Address, Port: r.Port})
		}
	}
	return out
}

// SlotsOf returns the slots of a rank, live or being cleaned.
func (s *State) SlotsOf(k model.RankKey) (out []model.SlotKey) {
	for o := range s.Owners.From(OwnerKey{Rank: k}) {
		if o.Rank != k {
			break
		}
		if slot, _ := s.Slots.Get(o.Slot); slot.Owner != model.OwnerForeign {
			out = append(out, o.Slot)
		}
	}
	return out
}

// RanksOf returns an attempt's ranks, in order.
func (s *State) RanksOf(k model.AttemptKey) (out []model.Rank) {
	for key, r := range s.Ranks.From(k.Rank(0)) {
		if key.Attempt() != k {
			break
		}
		out = append(out, r)
	}
	return out
}
