package services

import "github.com/berth-gpu/berth/fsm/model"

// ended returns the step by which an allocation ends.
func ended(was, as model.AllocationState) model.TallyStep {
	switch as {
	case model.AllocationExpired:
		return model.StepExpired
	case model.AllocationLost:
		return model.StepLost
	case model.AllocationQueued, model.AllocationActive, model.AllocationReleased:
	}
	if was == model.AllocationQueued {
		return model.StepWithdrawn
	}
	return model.StepReleased
}
