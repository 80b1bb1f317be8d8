package services

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/tally"
)

// ended returns the step by which an allocation ends.
func ended(was, as model.AllocationState) tally.Step {
	switch as {
	case model.AllocationExpired:
		return tally.Expired
	case model.AllocationLost:
		return tally.Lost
	case model.AllocationQueued, model.AllocationActive, model.AllocationReleased:
	}
	if was == model.AllocationQueued {
		return tally.Withdrawn
	}
	return tally.Released
}
