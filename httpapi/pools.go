package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func (a quotas) routePools(doc huma.API) {
	const path = "/orchestrator/allocation"
	handle(a.api, doc, op("allocation", http.MethodGet, path, "How strictly GPUs are guaranteed to their owners, and the borrowed GPUs"),
		func(ctx context.Context, in *watchInput) (*answer[wire.Allocation], error) {
			s, err := a.api.read(ctx, &in.Watch, topics(model.TopicSettings, model.TopicFleet), nil)
			if err != nil {
				return nil, err
			}
			return &answer[wire.Allocation]{Index: s.Index, Body: view.Pools(&s)}, nil
		})
	body := strict.New[wire.SetAllocation]()
	handleBody[wire.SetAllocation](a.api, doc, op("set-allocation", http.MethodPut, path, "Set how strictly GPUs are guaranteed to their owners"),
		func(ctx context.Context, in *policyInput) (*answer[wire.Allocation], error) {
			b, err := body.Decode(in.RawBody)
			if err != nil {
				return nil, err
			}
			return a.setAllocation(ctx, in.Key, b)
		})
}

func (a quotas) setAllocation(ctx context.Context, key string, b *wire.SetAllocation) (*answer[wire.Allocation], error) {
	c, err := intake.Pools(b)
	if err != nil {
		return nil, err
	}
	_, index, err := a.api.propose(ctx, key, c)
	if err != nil {
		return nil, err
	}
	s := a.api.peer.Reader.State()
	return &answer[wire.Allocation]{Index: index, Body: view.Pools(&s)}, nil
}
