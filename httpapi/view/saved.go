package view

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// SavedServices returns the services that hold GPUs, oldest first, and then those that wait, in
// order, without GPUs that are held for a job.
func SavedServices(v *View) []wire.SavedService {
	var hold []model.Allocation
	for _, a := range v.State.Allocations.All() {
		if a.State == model.AllocationActive {
			hold = append(hold, a)
		}
	}
	slices.SortStableFunc(hold, func(a, b model.Allocation) int { return cmp.Compare(a.Granted, b.Granted) })
	out := []wire.SavedService{}
	for i := range hold {
		out = saveService(out, &hold[i])
	}
	for _, w := range v.Waiting() {
		a, _ := v.State.Allocations.Get(model.AllocationID(w.ID))
		out = saveService(out, &a)
	}
	return out
}

func saveService(list []wire.SavedService, a *model.Allocation) []wire.SavedService {
	if a.For != "" {
		return list
	}
	s := wire.SavedService{ID: string(a.ID), User: a.User, Request: wire.Allocate{
		Service: a.Service, Workload: a.Workload, Data: []byte(a.Data), Project: a.Project, Priority: new(int64(a.Priority)),
		GPUs: new(int64(a.GPUs)), GPUType: a.GPUModel, TTLS: new(a.TTL.Seconds()), WebhookURL: a.Webhook,
		Constraint: a.Constraint, Nodelist: listed(a.Nodelist), Exclude: listed(a.Exclude),
	}}
	if a.GPUMemoryMB > 0 {
		s.Request.GPUMemory = new(float64(a.GPUMemoryMB) / 1000)
	}
	return append(list, s)
}
