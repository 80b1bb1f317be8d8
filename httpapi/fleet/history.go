package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// MaxHistory bounds a node's answer, in bytes: for the most GPUs and steps that there may be.
const MaxHistory = 4 << 20

// histories passes on the telemetry that nodes keep.
type histories struct{ api *core.API }

// historyInput is the input of GET /nodes/{node_id}/gpus/history.
type historyInput struct {
	Node    string `path:"node_id"`
	Minutes int    `query:"minutes" minimum:"1" maximum:"15" default:"15" doc:"how far back"`
	Steps   int    `query:"steps" minimum:"1" maximum:"180" default:"60" doc:"the number of steps"`
}

func (a histories) route(doc huma.API) {
	o := core.Op("gpu-history", http.MethodGet, "/nodes/{node_id}/gpus/history", "What a node's GPUs measured in the last quarter of an hour")
	o.Description = "The node itself answers, by way of any peer; its memory is empty after a start of its agent."
	core.Handle(a.api, doc, o, func(ctx context.Context, in *historyInput) (*core.Answer[wire.NodeHistory], error) {
		s, err := a.api.Fresh(ctx, peer.Default)
		if err != nil {
			return nil, err
		}
		n, found := s.Nodes.Get(model.NodeID(in.Node))
		if !found {
			return nil, problem.Refuse(wire.CodeNotFound, "there is no such node")
		}
		past, err := a.ask(ctx, n.Address, in)
		if err != nil {
			a.api.Log.Debug("the telemetry of a node cannot be read", "node", n.ID, "err", err)
			return nil, problem.Refuse(wire.CodeUnreachable, "the node cannot be reached, or its agent is too old: the telemetry is kept on the node only")
		}
		return &core.Answer[wire.NodeHistory]{Index: s.Index, Body: past}, nil
	})
}

// ask asks a node, and reads a bounded answer.
func (a histories) ask(ctx context.Context, node string, in *historyInput) (*wire.NodeHistory, error) {
	if node == "" {
		return nil, fmt.Errorf("its address is not known")
	}
	ctx, cancel := context.WithTimeout(ctx, core.NodeLimit)
	defer cancel()
	r, err := core.NewRequest(ctx, http.MethodGet, node, fmt.Sprintf("/node/gpus/history?minutes=%d&steps=%d", in.Minutes, in.Steps), nil)
	if err != nil {
		return nil, err
	}
	got, err := a.api.Out.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = got.Body.Close() }()
	if got.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers with status %s", got.Status)
	}
	data, err := io.ReadAll(io.LimitReader(got.Body, MaxHistory))
	if err != nil {
		return nil, err
	}
	past := &wire.NodeHistory{}
	if err := json.Unmarshal(data, past); err != nil {
		return nil, err
	}
	past.Node = in.Node
	if past.GPUs == nil {
		past.GPUs = []wire.GPUHistory{}
	}
	for i := range past.GPUs {
		if past.GPUs[i].Points == nil {
			past.GPUs[i].Points = []wire.GPUPoint{}
		}
	}
	return past, nil
}
