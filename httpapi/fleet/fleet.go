package fleet

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// fleet lists GPUs and nodes.
type fleet struct{ api *core.API }

func (a fleet) route(doc huma.API) {
	set := core.Topics(model.TopicFleet, model.TopicNode, model.TopicSettings)
	for id, path := range map[string]string{"gpu-status": "/gpu/status", "cluster-gpu-status": "/cluster/gpu-status"} {
		core.Handle(a.api, doc, core.Op(id, http.MethodGet, path, "Every GPU with its holder and telemetry"),
			func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.GPUStatus], error) {
				s, err := a.api.Read(ctx, &in.Watch, set, nil)
				if err != nil {
					return nil, err
				}
				soft := a.api.Samples(ctx)
				out := &wire.GPUStatus{Nodes: a.list(&s, &soft, view.AllNodes(&s)), ClusterStatus: view.ClusterStatus(&s)}
				out.ClusterStatus.BusyPercent = view.ReadingsOf(soft.Readings).Busy()
				return &core.Answer[wire.GPUStatus]{Index: s.Index, Body: out}, nil
			})
	}
	core.Handle(a.api, doc, nodeTable().Describe(core.Op("nodes", http.MethodGet, "/nodes", "The GPU hosts")), a.nodes)
	core.Handle(a.api, doc, core.Op("node", http.MethodGet, "/nodes/{node_id}", "One GPU host, with its GPUs and the jobs that run there"), a.node)
}

// oneNodeInput is the input of GET /nodes/{node_id}.
type oneNodeInput struct {
	core.Watch
	Node string `path:"node_id"`
}

func (a fleet) node(ctx context.Context, in *oneNodeInput) (*core.Answer[wire.NodeDetail], error) {
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicFleet, model.TopicNode, model.TopicJob, model.TopicSettings), nil)
	if err != nil {
		return nil, err
	}
	v := a.api.ViewFor(ctx, &s, &s, a.api.Now(&s))
	soft := a.api.Samples(ctx)
	out, found := v.Node(model.NodeID(in.Node), soft.Readings)
	if !found {
		return nil, problem.Refuse(wire.CodeNotFound, "there is no such node")
	}
	addOther(&out.Node, &soft)
	if a.api.Config.Gossip != nil {
		out.Gossip = a.api.Config.Gossip(trust.RoleNode, in.Node)
	}
	return &core.Answer[wire.NodeDetail]{Index: s.Index, Body: out}, nil
}
