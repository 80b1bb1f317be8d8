package tx

import (
	"iter"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// DependenciesOf returns what a job waits or has waited for.
func DependenciesOf(t *Tx, id model.JobID) (out []dependency.Row) {
	for k, d := range t.Dependencies.Now().From(dependency.Key{Job: id}) {
		if k.Job != id {
			break
		}
		out = append(out, d)
	}
	return out
}

// KeysOf returns the keys of a run of rows, so that the rows may be written to.
func KeysOf[K, V any](rows iter.Seq2[K, V], in func(K) bool) (out []K) {
	for k := range rows {
		if !in(k) {
			break
		}
		out = append(out, k)
	}
	return out
}

// KeysWhere returns the keys of the rows that meet a condition.
func KeysWhere[K, R any](rows iter.Seq2[K, R], is func(*R) bool) (out []K) {
	for k, row := range rows {
		if is(&row) {
			out = append(out, k)
		}
	}
	return out
}

// FirstKey returns the first key of a run of rows; the zero key if there is none.
func FirstKey[K, V any](rows iter.Seq2[K, V]) (first K) {
	for k := range rows {
		return k
	}
	return first
}

// FirstOnly stops KeysOf after one key.
func FirstOnly[K any]() func(K) bool {
	n := 0
	return func(K) bool { n++; return n == 1 }
}

// ForgetRank deletes a rank and the use of its GPUs.
func ForgetRank(t *Tx, key model.RankKey) {
	mine := func(k model.RankGPUKey) bool { return k.Rank == key }
	for _, k := range KeysOf(t.RankGPUs.Now().From(model.RankGPUKey{Rank: key}), mine) {
		t.RankGPUs.Delete(k)
	}
	t.Ranks.Delete(key)
}

// TouchNode marks that the desired set of a node has changed.
func TouchNode(t *Tx, id model.NodeID) {
	u, _ := t.NodeUse.Get(id)
	u.Node, u.Desired = id, t.Meta.Index
	t.NodeUse.Put(u)
}

// SlotsOf returns the slots that an attempt owns or that are being cleaned after it. A foreign attempt of the
// same name, from a past that was lost, is another.
func SlotsOf(t *Tx, a model.AttemptKey) (out []model.SlotKey) {
	for k := range t.Owners.Now().From(state.OwnerKey{Rank: a.Rank(0)}) {
		if k.Rank.Attempt() != a {
			break
		}
		if slot := t.Slots.Must(k.Slot); slot.Owner != model.OwnerForeign {
			out = append(out, k.Slot)
		}
	}
	return out
}

// LiveRanks returns the ranks on a node that have not ended.
func LiveRanks(t *Tx, id model.NodeID) (out []model.Rank) {
	for k := range t.nodeRanks.Now().From(state.NodeRankKey{Node: id}) {
		if k.Node != id {
			break
		}
		r := t.Ranks.Must(k.Rank)
		out = append(out, r)
	}
	return out
}

// SlotsOfAllocation returns the slots that an allocation owns.
func SlotsOfAllocation(t *Tx, id model.AllocationID) (out []model.SlotKey) {
	for k := range t.Owners.Now().From(state.OwnerKey{Allocation: id}) {
		if k.Allocation != id || k.Rank != (model.RankKey{}) {
			break
		}
		out = append(out, k.Slot)
	}
	return out
}

// RanksOf returns the ranks of an attempt, in order.
func RanksOf(t *Tx, key model.AttemptKey) (out []model.Rank) {
	for k, r := range t.Ranks.Now().From(key.Rank(0)) {
		if k.Attempt() != key {
			break
		}
		out = append(out, r)
	}
	return out
}

// GpusOf returns the GPUs of a node, by place.
func GpusOf(t *Tx, node model.NodeID) (out []model.GPUID) {
	mine := func(k model.AddressKey) bool { return k.Node == node }
	for _, k := range KeysOf(t.NodeGPUs.Now().From(model.AddressKey{Node: node}), mine) {
		out = append(out, k.GPU)
	}
	return out
}

// Lots returns the GPUs of an attempt that could be given to others.
func Lots(t *Tx, key model.AttemptKey) []ledger.Lot {
	s := ledger.Stake{}
	for _, slot := range SlotsOf(t, key) {
		row := t.Slots.Must(slot)
		gpu := t.GPUs.Must(slot.GPU)
		if node := t.Nodes.Must(row.Node); node.Schedulable() && gpu.Usable() {
			s.Add(row.Node, gpu.Model)
		}
	}
	return s.At
}
