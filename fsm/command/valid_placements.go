package command

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// validPlacements checks the ranks of an attempt, or the one of an allocation: at returns the node and the slots of each.
func validPlacements(ranks, limit int, at func(int) (model.NodeID, []model.SlotKey)) error {
	if err := validCount("ranks", ranks, 1, limit); err != nil {
		return err
	}
	var nodes []model.NodeID
	var slots []model.SlotKey
	none := 0 // ranks without slots
	for i := range ranks {
		node, own := at(i)
		nodes, slots = append(nodes, node), append(slots, own...)
		if len(own) == 0 {
			none++
		}
	}
	if none > 0 && none < ranks {
		return invalid("slots", "at least one a rank, or none of all ranks for a job without GPUs")
	}
	slices.Sort(nodes)
	slices.SortFunc(slots, model.SlotKey.Compare)
	if len(slices.Compact(nodes)) != ranks {
		return invalid("ranks", "on different nodes")
	}
	n := len(slots)
	if n > model.MaxGPUs || len(slices.Compact(slots)) != n {
		return invalid("slots", "different, and at most 8192")
	}
	return nil
}
