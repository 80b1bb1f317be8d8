package services

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// allocations lists the GPUs that services hold or wait for.
type allocations struct{ api *core.API }

// allocationsInput is the input of GET /gpu/allocations.
type allocationsInput struct {
	core.Watch
	Service string `query:"service" maxLength:"128" doc:"of this service only"`
	User    string `query:"user" maxLength:"128" doc:"of this user only"`
	Status  string `query:"status" enum:"queued,allocated,released,expired,lost"`
	Limit   int    `query:"limit" minimum:"1" maximum:"10000" default:"1000"`
	After   string `query:"after" maxLength:"128" doc:"next of the previous page"`
}

// allocationInput is the input of GET /gpu/allocations/{allocation_id}.
type allocationInput struct {
	core.Watch
	ID string `path:"allocation_id"`
}

func (a allocations) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("gpu-list", http.MethodGet, "/gpu/list", "Every GPU, the allocations of services, and the waiting ones"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.GPUList], error) {
			s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicFleet, model.TopicNode), nil)
			if err != nil {
				return nil, err
			}
			return &core.Answer[wire.GPUList]{Index: s.Index, Body: a.everything(ctx, &s)}, nil
		})
	core.Handle(a.api, doc, core.Op("service-allocations", http.MethodGet, "/gpu/allocations", "The allocations that services hold, wait for, or held in the last hour"), a.list)
	core.Handle(a.api, doc, core.Op("service-allocation", http.MethodGet, "/gpu/allocations/{allocation_id}", "Everything about one allocation, and why it waits"), a.one)
}

func (a allocations) everything(ctx context.Context, s *state.State) *wire.GPUList {
	v := view.View{State: s, Now: a.api.Now(s)}
	out := &wire.GPUList{GPUs: []wire.ListedGPU{}, Allocations: []wire.ServiceAllocation{}, Queue: v.Waiting()}
	nodes := view.Nodes(s, a.api.Now(s), view.ReadingsOf(a.api.Samples(ctx).Readings), view.AllNodes(s))
	for i := range nodes {
		for _, g := range nodes[i].GPUs {
			out.GPUs = append(out.GPUs, wire.ListedGPU{NodeID: nodes[i].ID, Hostname: nodes[i].Hostname, GPU: g})
		}
	}
	for _, one := range s.Allocations.All() {
		if one.State == model.AllocationActive {
			out.Allocations = append(out.Allocations, v.Allocation(&one))
		}
	}
	core.HideAddresses(ctx, out.Allocations)
	core.HideAddresses(ctx, out.Queue)
	return out
}

func (a allocations) list(ctx context.Context, in *allocationsInput) (*core.Answer[wire.ServiceAllocations], error) {
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicFleet), nil)
	if err != nil {
		return nil, err
	}
	v := view.View{State: &s, Now: a.api.Now(&s)}
	out := &wire.ServiceAllocations{Allocations: []wire.ServiceAllocation{}}
	for id, one := range s.Allocations.From(model.AllocationID(in.After)) {
		if string(id) == in.After || in.Service != "" && one.Service != in.Service || in.User != "" && one.User != in.User ||
			in.Status != "" && view.Status(one.State) != in.Status {
			continue
		}
		if len(out.Allocations) == in.Limit {
			out.Next = out.Allocations[in.Limit-1].ID
			break
		}
		out.Allocations = append(out.Allocations, v.Allocation(&one))
	}
	core.HideAddresses(ctx, out.Allocations)
	return &core.Answer[wire.ServiceAllocations]{Index: s.Index, Body: out}, nil
}

func (a allocations) one(ctx context.Context, in *allocationInput) (*core.Answer[wire.ServiceAllocation], error) {
	id := model.AllocationID(in.ID)
	changed := func(was, is *state.State) bool {
		x, _ := was.Allocations.Get(id)
		y, _ := is.Allocations.Get(id)
		return x != y
	}
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicFleet), changed)
	if err != nil {
		return nil, err
	}
	one, found := s.Allocations.Get(id)
	if !found {
		return nil, noAllocation()
	}
	v := view.View{State: &s, Now: a.api.Now(&s)}
	list := []wire.ServiceAllocation{v.Allocation(&one)}
	core.HideAddresses(ctx, list)
	out := list[0]
	if e, waits := explain.Allocation(&s, v.Now, id); waits {
		out.Explanation, out.Position = view.Explanation(&e), e.Position
		out.PlannedStart, _ = view.Start(a.api.Places.Foresee(&s, v.Now), one.Turn)
		out.Explanation.PlannedStart = out.PlannedStart
	}
	return &core.Answer[wire.ServiceAllocation]{Index: s.Index, Body: &out}, nil
}

func noAllocation() error {
	return problem.Refuse(wire.CodeNotFound, "there is no such allocation; those that ended more than an hour ago are removed")
}
