package httpapi

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// policies tells and changes how the queue is ordered.
type policies struct{ *API }

// policyInput is what a change of the policy is given.
type policyInput struct {
	Key     string `header:"Idempotency-Key"`
	RawBody []byte
}

func (a policies) route(doc huma.API) {
	handle(a.API, doc, op("policies", http.MethodGet, "/orchestrator/policies", "How the queue is ordered, how else it could be, and what can be tuned"),
		func(ctx context.Context, in *watchInput) (*answer[wire.Policies], error) {
			s, err := a.read(ctx, &in.Watch, topics(model.TopicSettings), nil)
			if err != nil {
				return nil, err
			}
			return &answer[wire.Policies]{Index: s.Index, Body: policiesOf(&s)}, nil
		})
	body := newStrict[wire.SetPolicy]()
	for _, name := range []string{"policy", "policies"} {
		handleBody[wire.SetPolicy](a.API, doc,
			op("set-"+name, http.MethodPut, "/orchestrator/"+name, "Choose the order of the queue, and tune it"),
			func(ctx context.Context, in *policyInput) (*answer[wire.Orchestrator], error) {
				b, err := body.decode(in.RawBody)
				if err != nil {
					return nil, err
				}
				return a.set(ctx, in.Key, b)
			})
	}
}

func policiesOf(s *state.State) *wire.Policies {
	set := s.Settings()
	out := &wire.Policies{Policy: set.Policy, Predictions: predictions(s)}
	for _, name := range sched.Policies() {
		out.Policies = append(out.Policies, wire.Policy{Name: name, What: sched.Describe(name)})
	}
	for _, p := range model.Parameters() {
		out.Parameters = append(out.Parameters, wire.Parameter{Name: p.Name, Value: p.Value(&set.Tuning), Range: p.Range, What: p.What})
	}
	return out
}

// set changes what the body names; nothing, if any of it is wrong.
func (a policies) set(ctx context.Context, key string, b *wire.SetPolicy) (*answer[wire.Orchestrator], error) {
	s := a.peer.Reader.State()
	tuning := s.Settings().Tuning
	for _, name := range slices.Sorted(maps.Keys(b.Parameters)) {
		if err := tuning.Set(name, b.Parameters[name]); err != nil {
			return nil, invalid("parameters", err.Error())
		}
	}
	policy := strings.ReplaceAll(b.Policy, "-", "_")
	switch {
	case b.Policy != "" && !sched.Known(policy):
		return nil, invalid("policy", "must be one of "+strings.Join(sched.Policies(), ", "))
	case b.Policy == "" && len(b.Parameters) == 0:
		return nil, invalid("policy", "must be given, or parameters to tune")
	}
	var index uint64
	var err error
	if policy != "" {
		_, index, err = a.propose(ctx, key, &command.SetPolicy{Policy: policy})
	}
	if err == nil && len(b.Parameters) > 0 {
		if key != "" {
			key += "/parameters"
		}
		_, index, err = a.propose(ctx, key, &command.SetTuning{Tuning: tuning})
	}
	if err != nil {
		return nil, err
	}
	s = a.peer.Reader.State()
	return &answer[wire.Orchestrator]{Index: index, Body: queues(a).orchestrator(ctx, &s)}, nil
}
