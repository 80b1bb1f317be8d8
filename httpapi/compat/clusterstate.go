package compat

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// clusterStates shows the fleet in the terms of experiment trackers, and answers their requests to
// initialize a cluster.
type clusterStates struct{ api *core.API }

func (a clusterStates) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("cluster-state", http.MethodGet, "/cluster/state", "Every GPU by node, in camelCase"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.ClusterState], error) {
			s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicFleet, model.TopicNode), nil)
			if err != nil {
				return nil, err
			}
			return &core.Answer[wire.ClusterState]{Index: s.Index, Body: a.state(ctx, &s)}, nil
		})
	o := core.Op("initialize", http.MethodPost, "/gpu/initialize", "Confirm the size of a cluster of simulated GPUs")
	o.Description = "Nodes come with their agents, so this creates none: it compares the size of a cluster of simulated GPUs with the given one. " +
		"A cluster with real GPUs refuses it."
	core.HandleBody(a.api, doc, o, a.initialize)
}

func (a clusterStates) state(ctx context.Context, s *state.State) *wire.ClusterState {
	r := view.Resources(s)
	out := &wire.ClusterState{GPUs: wire.GPUResources{
		Total: r.TotalGPUs, Available: r.AvailableGPUs, Allocated: r.AllocatedGPUs, Nodes: []wire.NodeResources{},
	}}
	nodes := view.Nodes(s, a.api.Now(s), view.ReadingsOf(a.api.Samples(ctx).Readings), view.AllNodes(s))
	for i := range nodes {
		n := &nodes[i]
		to := wire.NodeResources{NodeID: n.ID, Hostname: n.Hostname, GPUCount: n.GPUCount, GPUType: n.GPUType, GPUs: []wire.GPUResource{}}
		for j := range n.GPUs {
			g := &n.GPUs[j]
			to.GPUs = append(to.GPUs, wire.GPUResource{
				ID: g.Index, Total: g.MemoryGB, Used: g.MemoryUsedGB, Utilization: g.UtilizationPercent, Temperature: g.TemperatureCelsius,
				AllocatedTo: g.AllocatedTo,
			})
		}
		out.GPUs.Nodes = append(out.GPUs.Nodes, to)
	}
	return out
}

// initialize compares the request with the cluster, and changes nothing.
func (a clusterStates) initialize(_ context.Context, _ *core.BodyInput, b *wire.Initialize) (*core.Answer[wire.Initialized], error) {
	s := a.api.State()
	nodes, err := intake.Count("node_count", b.Nodes, 1, 1<<16, int64(s.Nodes.Len()))
	if err != nil {
		return nil, err
	}
	each, err := intake.Count("gpus_per_node", b.GPUs, 1, model.MaxDevices, 0)
	if err != nil {
		return nil, err
	}
	same := int(nodes) == s.Nodes.Len()
	for id, n := range s.Nodes.All() {
		if !strings.Contains(n.Features, wire.SimulatedGPUs) {
			return nil, problem.Refuse(model.CodeConflict.String(), "node "+string(id)+" has real GPUs, which its agent has found: nothing is initialized")
		}
		use, _ := s.NodeUse.Get(id)
		same = same && (each == 0 || use.All == each)
	}
	switch {
	case s.Nodes.Len() == 0:
		return nil, problem.Refuse(model.CodeConflict.String(), "no node has registered yet: start berth agent on the GPU hosts, or berth dev for a simulated cluster")
	case !same:
		return nil, problem.Refuse(model.CodeConflict.String(), fmt.Sprintf("the cluster has %d nodes with %d simulated GPUs together: "+
			"start berth dev with --nodes and --gpus for another size", s.Nodes.Len(), view.Resources(&s).TotalGPUs))
	}
	return &core.Answer[wire.Initialized]{Index: s.Index, Body: &wire.Initialized{
		Success: true, Message: "the cluster has the given size", NodeCount: int64(s.Nodes.Len()), ClusterStatus: view.ClusterStatus(&s),
	}}, nil
}
