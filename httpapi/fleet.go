package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// fleet lists GPUs and nodes.
type fleet struct{ api *API }

func (a fleet) route(doc huma.API) {
	set := topics(model.TopicFleet, model.TopicNode, model.TopicSettings)
	for id, path := range map[string]string{"gpu-status": "/gpu/status", "cluster-gpu-status": "/cluster/gpu-status"} {
		handle(a.api, doc, op(id, http.MethodGet, path, "Every GPU with its holder and telemetry"),
			func(ctx context.Context, in *watchInput) (*answer[wire.GPUStatus], error) {
				s, err := a.api.read(ctx, &in.Watch, set, nil)
				if err != nil {
					return nil, err
				}
				nodes, busy := view.Nodes(&s, a.api.now(&s), a.api.samples.get(ctx).Readings)
				out := &wire.GPUStatus{Nodes: nodes, ClusterStatus: view.ClusterStatus(&s)}
				out.ClusterStatus.BusyPercent = busy
				return &answer[wire.GPUStatus]{Index: s.Index, Body: out}, nil
			})
	}
	handle(a.api, doc, op("nodes", http.MethodGet, "/nodes", "Every GPU host"),
		func(ctx context.Context, in *watchInput) (*answer[wire.Nodes], error) {
			s, err := a.api.read(ctx, &in.Watch, set, nil)
			if err != nil {
				return nil, err
			}
			nodes, _ := view.Nodes(&s, a.api.now(&s), a.api.samples.get(ctx).Readings)
			return &answer[wire.Nodes]{Index: s.Index, Body: &wire.Nodes{Nodes: nodes}}, nil
		})
}
