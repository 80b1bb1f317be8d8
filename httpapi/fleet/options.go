package fleet

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// options returns what a caller can ask for in a submission.
type options struct{ api *core.API }

func (a options) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("submit-options", http.MethodGet, "/submit/options", "What the caller can ask for in a submission: projects, types of GPU, labels, limits and defaults"), a.options)
}

func (a options) options(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.SubmitOptions], error) {
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicFleet, model.TopicNode, model.TopicSettings), nil)
	if err != nil {
		return nil, err
	}
	c, set := auth.From(ctx), s.Settings()
	out := &wire.SubmitOptions{
		User: c.Name, Projects: []string{}, AnyProject: c.Operates(), AnyUser: c.Kind == auth.Open || c.Role.Covers(model.RoleAdmin),
		Submits: c.Kind == auth.Open || c.Role.Covers(model.RoleUser), MostPriority: intake.MostPriority(c, model.JobClass),
		GPUTypes: gpuTypes(&s), Labels: nodeLabels(&s), Nodes: []string{}, Limits: []wire.Quota{}, Defaults: []wire.SubmitValue{},
	}
	if c.Name != "" {
		out.Projects = append(out.Projects, a.api.Projects(&s, c)...)
	}
	if out.AnyProject {
		out.Projects = append(out.Projects, knownProjects(&s)...)
	}
	slices.Sort(out.Projects)
	out.Projects = slices.Compact(out.Projects)
	for id, n := range s.Nodes.All() {
		use, _ := s.NodeUse.Get(id)
		out.Nodes = append(out.Nodes, string(id))
		out.MostOnNode, out.MostCPUs = max(out.MostOnNode, int64(use.All)), max(out.MostCPUs, int64(n.CPUs))
		out.MostMemoryGB = max(out.MostMemoryGB, state.HostGigabytes(n.MemoryMB))
	}
	scopes := []model.ScopeKey{{Kind: model.ScopeCluster}}
	if c.Name != "" {
		scopes = append(scopes, model.ScopeKey{Kind: model.ScopeUser, Name: c.Name})
	}
	for _, p := range out.Projects {
		scopes = append(scopes, model.ScopeKey{Kind: model.ScopeProject, Name: p})
	}
	for _, scope := range scopes {
		if _, bound := state.LimitOf(&s, scope); bound || scope.Kind != model.ScopeProject {
			out.Limits = append(out.Limits, view.Quota(&s, scope, a.api.Now(&s)))
		}
	}
	for _, p := range model.JobDefaults() {
		out.Defaults = append(out.Defaults, wire.SubmitValue{Name: p.Name, Value: p.Value(&set.Defaults), Range: p.Range, What: p.What})
	}
	out.Partitions, out.QOS = view.Partitions(&s)
	return &core.Answer[wire.SubmitOptions]{Index: s.Index, Body: out}, nil
}

// knownProjects returns the projects that users are in, or that have limits or use.
func knownProjects(s *state.State) (out []string) {
	for k := range s.Members.All() {
		out = append(out, k.Project)
	}
	for _, scope := range view.Scopes(s) {
		if scope.Kind == model.ScopeProject {
			out = append(out, scope.Name)
		}
	}
	return out
}
