package fleet

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// operations changes nodes and GPUs for operators.
type operations struct{ api *core.API }

// nodeInput is the input of changes of a node.
type nodeInput struct {
	Key  string `header:"Idempotency-Key"`
	Node string `path:"node_id"`

	core.Raw
}

// nodeOnlyInput is the input of changes of a node without parameters.
type nodeOnlyInput struct {
	Key  string `header:"Idempotency-Key"`
	Node string `path:"node_id"`
}

// gpuInput is the input of changes of a GPU.
type gpuInput struct {
	Key string `header:"Idempotency-Key"`
	GPU string `path:"uuid"`

	core.Raw
}

func (a operations) route(doc huma.API) {
	core.HandleBody(a.api, doc, core.Op("set-node-mode", http.MethodPut, "/nodes/{node_id}/mode", "Open, cordon or drain a node"), a.setNodeMode)
	core.HandleBody(a.api, doc, core.Example(core.Op("set-gpu-mode", http.MethodPut, "/gpus/{uuid}/mode", "Open, cordon or drain one GPU"), `{"mode":"open"}`), a.setGPUMode)
	core.HandleBody(a.api, doc, core.Example(core.Op("set-node-labels", http.MethodPatch, "/nodes/{node_id}/labels", "Label a node, with precedence over its agent's labels"), `{"set":{"rack":"a"}}`), a.setNodeLabels)
	o := core.Example(core.Op("confirm-dead", http.MethodPost, "/nodes/{node_id}/confirm-dead", "Confirm that an unreachable node is dead, with all its processes"), `{"epoch":1,"reason":"power supply failed"}`)
	o.Description = "This is an operator's confirmation of what no machine can detect: jobs that ran there, including those that wait " +
		"for it (on_lost hold), are started again elsewhere or fail. If the node is alive after all, two attempts of a job may run."
	core.HandleBody(a.api, doc, o, a.confirmDead)
	o = core.Op("kill-foreign", http.MethodPost, "/nodes/{node_id}/foreign/kill", "End attempts on a node that the state does not know, after a restore")
	core.HandleMaybeBody(a.api, doc, o, a.killForeign)
	o = core.Op("adopt-foreign", http.MethodPost, "/nodes/{node_id}/foreign/adopt", "Make attempts that the state does not know those of their jobs, after a restore")
	o.Description = "A job that was submitted after the backup comes back with its number, from the files of its nodes; of an array only the tasks that run."
	core.HandleMaybeBody(a.api, doc, o, a.adoptForeign)
	core.Handle(a.api, doc, core.Op("retire-node", http.MethodDelete, "/nodes/{node_id}", "Remove a node that is empty or dead"),
		func(ctx context.Context, in *nodeOnlyInput) (*core.Answer[wire.NodeDone], error) {
			_, index, err := a.api.Propose(ctx, in.Key, &command.RetireNode{Node: model.NodeID(in.Node)})
			if err != nil {
				return nil, err
			}
			out := &wire.NodeDone{Success: true, NodeID: in.Node, Message: "retired", Jobs: []string{}}
			return &core.Answer[wire.NodeDone]{Index: index, Body: out}, nil
		})
}

// modeOf parses a mode's name.
func modeOf(text string) (model.NodeMode, error) {
	for m := model.ModeOpen; m <= model.ModeDraining; m++ {
		if text == m.String() {
			return m, nil
		}
	}
	return 0, problem.Invalid("mode", "must be open, cordoned or draining")
}

func (a operations) setNodeMode(ctx context.Context, in *nodeInput, body *wire.SetMode) (*core.Answer[wire.NodeDone], error) {
	mode, err := modeOf(body.Mode)
	if err != nil {
		return nil, err
	}
	id := model.NodeID(in.Node)
	_, index, err := a.api.Propose(ctx, in.Key, &command.SetNodeMode{Node: id, Mode: mode, Note: body.Reason})
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	out := &wire.NodeDone{Success: true, NodeID: in.Node, Message: told(mode), Jobs: tasksOn(&s, id)}
	return &core.Answer[wire.NodeDone]{Index: index, Body: out}, nil
}

func (a operations) setNodeLabels(ctx context.Context, in *nodeInput, body *wire.SetLabels) (*core.Answer[wire.NodeDone], error) {
	var changes model.Labels
	for key, value := range body.Set { // order-free: With sorts
		changes = changes.With(model.Label{Key: key, Value: value})
	}
	for _, key := range body.Remove {
		if _, both := body.Set[key]; both {
			return nil, problem.Invalid("remove", "must not hold what set holds, too: "+key)
		}
		changes = changes.With(model.Label{Key: key, Gone: true})
	}
	text := changes.String()
	if again, err := model.ParseLabels(text); err != nil || !slices.Equal(again, changes) || text == "" {
		return nil, problem.Invalid("set", model.ErrLabels.Error()+"; give at least one label to set or remove")
	}
	id := model.NodeID(in.Node)
	_, index, err := a.api.Propose(ctx, in.Key, &command.SetNodeLabels{Node: id, Changes: text})
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	n, _ := s.Nodes.Get(id)
	out := &wire.NodeDone{Success: true, NodeID: in.Node, Message: labelsNow(n.Is()), Jobs: tasksOn(&s, id)}
	return &core.Answer[wire.NodeDone]{Index: index, Body: out}, nil
}

// tasksOn returns the tasks that have a rank on a node.
func tasksOn(s *state.State, id model.NodeID) []string {
	out := []string{}
	for k := range s.NodeRanks.From(state.NodeRankKey{Node: id}) {
		if k.Node != id {
			break
		}
		out = append(out, k.Rank.Attempt().TaskKey().String())
	}
	return out
}

func told(mode model.NodeMode) string {
	switch mode {
	case model.ModeCordoned:
		return "gets no new work; running jobs continue"
	case model.ModeDraining:
		return "gets no new work; running jobs are stopped and return to the queue"
	case model.ModeOpen:
	}
	return "takes work"
}

func (a operations) setGPUMode(ctx context.Context, in *gpuInput, body *wire.SetMode) (*core.Answer[wire.NodeDone], error) {
	mode, err := modeOf(body.Mode)
	if err != nil {
		return nil, err
	}
	id := model.GPUID(strings.TrimSpace(in.GPU))
	_, index, err := a.api.Propose(ctx, in.Key, &command.SetGPUMode{GPU: id, Mode: mode, Note: body.Reason})
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	g, _ := s.GPUs.Get(id)
	out := &wire.NodeDone{Success: true, NodeID: string(g.Node), Message: told(mode), Jobs: []string{}}
	if slot, _ := s.Slots.Get(model.SlotKey{GPU: id}); slot.Owner == model.OwnerAttempt {
		out.Jobs = append(out.Jobs, slot.Rank.Attempt().TaskKey().String())
	}
	return &core.Answer[wire.NodeDone]{Index: index, Body: out}, nil
}

func (a operations) confirmDead(ctx context.Context, in *nodeInput, body *wire.ConfirmDead) (*core.Answer[wire.NodeDone], error) {
	if body.Epoch == nil || *body.Epoch < 1 {
		return nil, problem.Invalid("epoch", "must be given, see GET /nodes")
	}
	before := a.api.State()
	id := model.NodeID(in.Node)
	out := &wire.NodeDone{Success: true, NodeID: in.Node, Message: "confirmed dead", Jobs: tasksOn(&before, id)}
	_, index, err := a.api.Propose(ctx, in.Key, &command.ConfirmDead{Node: id, Epoch: uint64(*body.Epoch), Note: body.Reason})
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.NodeDone]{Index: index, Body: out}, nil
}

// labelsNow describes the labels of a node after a change.
func labelsNow(l model.Labels) string {
	if len(l) == 0 {
		return "has no labels"
	}
	return "labeled " + l.String()
}
