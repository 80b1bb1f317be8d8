package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func (a quotas) routePools(doc huma.API) {
	const path = "/orchestrator/allocation"
	core.Handle(a.api, doc, core.Op("allocation", http.MethodGet, path, "How strictly GPUs are guaranteed to their owners, and the borrowed GPUs"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Allocation], error) {
			s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicSettings, model.TopicFleet), nil)
			if err != nil {
				return nil, err
			}
			return &core.Answer[wire.Allocation]{Index: s.Index, Body: view.Pools(&s)}, nil
		})
	core.HandleBody(a.api, doc, core.Example(core.Op("set-allocation", http.MethodPut, path, "Set how strictly GPUs are guaranteed to their owners"), `{"mode":"hybrid"}`), a.setAllocation)
}

func (a quotas) setAllocation(ctx context.Context, in *core.BodyInput, b *wire.SetAllocation) (*core.Answer[wire.Allocation], error) {
	c, err := intake.Pools(b)
	if err != nil {
		return nil, err
	}
	_, index, err := a.api.Propose(ctx, in.Key, c)
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	return &core.Answer[wire.Allocation]{Index: index, Body: view.Pools(&s)}, nil
}
