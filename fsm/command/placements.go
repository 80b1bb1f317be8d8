package command

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/command/valid"
	"github.com/berth-gpu/berth/fsm/model"
)

// validPlacements checks the ranks of an attempt, or of an allocation, which has slots.
func validPlacements(ranks []Placement, limit int) error {
	if err := valid.Count("ranks", len(ranks), 1, limit); err != nil {
		return err
	}
	var nodes []model.NodeID
	var slots []model.SlotKey
	for i := range ranks {
		nodes = append(nodes, ranks[i].Node)
		slots = append(slots, ranks[i].Slots...)
		if (len(ranks[i].Slots) == 0) != (len(ranks[0].Slots) == 0) {
			return valid.Problem("slots", "at least one a rank, or none of all ranks for a job without GPUs")
		}
	}
	slices.Sort(nodes)
	slices.SortFunc(slots, model.SlotKey.Compare)
	if len(slices.Compact(nodes)) != len(ranks) {
		return valid.Problem("ranks", "on different nodes")
	}
	n := len(slots)
	if n > model.MaxGPUs || len(slices.Compact(slots)) != n {
		return valid.Problem("slots", "different, and at most 8192")
	}
	return nil
}
