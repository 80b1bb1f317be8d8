package httpapi

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// savedServices returns the services that hold GPUs, oldest first, and then those that wait, in
// order, without GPUs that are held for a job.
func savedServices(v *view) []wire.SavedService {
	var hold []model.Allocation
	for _, a := range v.s.Allocations.All() {
		if a.State == model.AllocationActive {
			hold = append(hold, a)
		}
	}
	slices.SortStableFunc(hold, func(a, b model.Allocation) int { return cmp.Compare(a.Granted, b.Granted) })
	out := []wire.SavedService{}
	for i := range hold {
		out = saveService(out, &hold[i])
	}
	for _, w := range v.waiting() {
		a, _ := v.s.Allocations.Get(model.AllocationID(w.ID))
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

// servicesOf returns the commands that queue the services of an import that are not queued yet.
func servicesOf(s *state.State, set *wire.Arrangement) (list []command.Body, err error) {
	for i := range set.Services {
		in := &set.Services[i]
		where := nth("services", i)
		id := model.AllocationID(in.ID)
		if s.Allocations.Has(id) {
			continue
		}
		c, err := allocation(&in.Request)
		if err != nil {
			return nil, under(where+".request", err)
		}
		if c.ID, c.User = id, in.User; in.Request.User != "" {
			return nil, under(where, invalid("request", "must not contain a user: the field user has it"))
		}
		if err := c.Validate(); err != nil {
			return nil, under(where, err)
		}
		list = append(list, c)
	}
	return list, nil
}
