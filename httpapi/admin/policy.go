package admin

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// policies shows and changes how the queue is ordered.
type policies struct{ api *core.API }

func (a policies) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("policies", http.MethodGet, "/orchestrator/policies", "The order of the queue, the alternatives, and the parameters"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Policies], error) {
			s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicSettings), nil)
			if err != nil {
				return nil, err
			}
			return &core.Answer[wire.Policies]{Index: s.Index, Body: view.Policies(&s)}, nil
		})
	for _, name := range []string{"policy", "policies"} {
		core.HandleBody(a.api, doc, core.Op("set-"+name, http.MethodPut, "/orchestrator/"+name, "Choose or tune the order of the queue"), a.set)
	}
}

// AutoRetries is how often a failed job is retried on a cluster with automatic retries.
const AutoRetries = 3

// unwrapped returns a change of policies, also where the change was given as an object of its own.
func unwrapped(outer *wire.SetPolicy) (*wire.SetPolicy, error) {
	if outer.Config == nil {
		return outer, nil
	}
	inner, err := strict.New[wire.SetPolicy]().Decode(outer.Config)
	switch {
	case err != nil:
		return nil, err
	case inner.Config != nil:
		return nil, problem.Invalid("policy_config", "must not hold another policy_config")
	case outer.Policy != "" || len(outer.Parameters) > 0 || outer.MaxConcurrent != nil || outer.AutoRetry != nil:
		return nil, problem.Invalid("policy_config", "must not be given together with other fields")
	}
	return inner, nil
}

// retryParameter converts the switch to the parameter that it stands for.
func retryParameter(b *wire.SetPolicy, now uint32) (change bool, to uint32, err error) {
	if b.AutoRetry == nil {
		return false, 0, nil
	}
	text, both := b.Parameters["max_retries"]
	switch {
	case both && (text == "0") == *b.AutoRetry:
		return false, 0, problem.Invalid("enable_auto_retry", "and the parameter max_retries contradict each other")
	case both:
		return false, 0, nil
	case *b.AutoRetry && now > 0: // also without a change, so that a repeated request is the same
		return true, now, nil
	case *b.AutoRetry:
		return true, AutoRetries, nil
	}
	return true, 0, nil
}

// set changes the values in the body; it changes nothing if any of them is not valid.
func (a policies) set(ctx context.Context, in *core.BodyInput, b *wire.SetPolicy) (*core.Answer[wire.Orchestrator], error) {
	b, err := unwrapped(b)
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	tuning, names := s.Settings().Tuning, slices.Sorted(maps.Keys(b.Parameters))
	for _, name := range names {
		if err := tune(&tuning, name, b.Parameters[name]); err != nil {
			return nil, err
		}
	}
	retries, to, err := retryParameter(b, tuning.Retries)
	if err != nil {
		return nil, err
	}
	if retries {
		tuning.Retries, names = to, append(names, "max_retries")
	}
	policy := strings.ReplaceAll(b.Policy, "-", "_")
	switch {
	case b.Policy != "" && !model.KnownPolicy(policy):
		return nil, problem.Invalid("policy", "must be one of "+strings.Join(model.Policies(), ", "))
	case b.Policy == "" && len(b.Parameters) == 0 && b.MaxConcurrent == nil && b.AutoRetry == nil:
		return nil, problem.Invalid("policy", "must be given, or another value to change")
	}
	change := &command.AdjustPolicy{Policy: policy, Tuning: tuning.Values(names...)}
	if b.MaxConcurrent != nil {
		if change.Limits, err = intake.Limits(wholeCluster, &wire.SetQuota{MaxConcurrent: b.MaxConcurrent}); err != nil {
			return nil, err
		}
	}
	_, index, err := a.api.Propose(ctx, in.Key, change)
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	return &core.Answer[wire.Orchestrator]{Index: index, Body: a.api.Orchestrator(ctx, &s)}, nil
}

var wholeCluster = model.ScopeKey{Kind: model.ScopeCluster}

// tune sets one parameter from its text.
func tune(t *model.Tuning, name, text string) error {
	err := t.Set(name, text)
	if err == nil {
		return nil
	}
	if d, wrong := wire.ParseDuration(text); wrong == nil && t.Set(name, d.String()) == nil {
		return nil
	}
	return problem.Invalid("parameters", err.Error())
}
