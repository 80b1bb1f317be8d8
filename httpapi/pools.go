package httpapi

import (
	"context"
	"math"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
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
			return &answer[wire.Allocation]{Index: s.Index, Body: allocationOf(&s)}, nil
		})
	body := newStrict[wire.SetAllocation]()
	handleBody[wire.SetAllocation](a.api, doc, op("set-allocation", http.MethodPut, path, "Set how strictly GPUs are guaranteed to their owners"),
		func(ctx context.Context, in *policyInput) (*answer[wire.Allocation], error) {
			b, err := body.decode(in.RawBody)
			if err != nil {
				return nil, err
			}
			return a.setAllocation(ctx, in.Key, b)
		})
}

func (a quotas) setAllocation(ctx context.Context, key string, b *wire.SetAllocation) (*answer[wire.Allocation], error) {
	c, err := poolsOf(b)
	if err != nil {
		return nil, err
	}
	_, index, err := a.api.propose(ctx, key, c)
	if err != nil {
		return nil, err
	}
	s := a.api.peer.Reader.State()
	return &answer[wire.Allocation]{Index: index, Body: allocationOf(&s)}, nil
}

// poolsOf converts a body to a change of how GPUs are divided.
func poolsOf(b *wire.SetAllocation) (*command.SetPools, error) {
	c := &command.SetPools{Mode: model.PoolModeOf(b.Mode)}
	if b.Mode != "" && c.Mode == model.PoolDefault {
		return nil, invalid("mode", "must be dynamic, static or hybrid")
	}
	if b.Ratio != nil {
		thousandths := math.Round(*b.Ratio * 1000)
		if !(thousandths >= 1 && thousandths <= 1000) {
			return nil, invalid("reserved_ratio", "must be above 0 and at most 1, such as 0.3")
		}
		c.Part = uint32(thousandths)
	}
	return c, nil
}

func allocationOf(s *state.State) *wire.Allocation {
	pools := s.Settings().Pools
	part := pools.Part
	if part == 0 {
		part = model.DefaultPart
	}
	all, _ := s.Accounts.Get(model.ScopeKey{Kind: model.ScopeCluster})
	fit := s.FitGPUs
	return &wire.Allocation{
		Mode: pools.Mode.String(), Ratio: float64(part) / 1000, GPUs: int64(s.Slots.Len()), Fit: fit, Owned: all.Reserved,
		Kept: min(pools.Kept(fit, all.Reserved), fit), Lent: int64(all.Borrowed),
	}
}

// countSchema, amountSchema and switchSchema describe wire.OrNone.
type (
	countSchema  struct{}
	amountSchema struct{}
	switchSchema struct{}
)

// Schema returns that of a whole number or "none".
func (countSchema) Schema(huma.Registry) *huma.Schema {
	return orNone(huma.TypeInteger, "0 or more, or none")
}

// Schema returns that of a number or "none".
func (amountSchema) Schema(huma.Registry) *huma.Schema {
	return orNone(huma.TypeNumber, "0 or more, or none")
}

// Schema returns that of true, false or "none".
func (switchSchema) Schema(huma.Registry) *huma.Schema {
	return orNone(huma.TypeBoolean, "true, false or none")
}

func orNone(kind, what string) *huma.Schema {
	return &huma.Schema{
		OneOf:       []*huma.Schema{{Type: kind}, {Type: huma.TypeString, Enum: []any{wire.None}}},
		Description: what,
	}
}

// sortedScopes returns scopes in order of kind and name, without the cluster and duplicates.
func sortedScopes(list []model.ScopeKey) []model.ScopeKey {
	list = slices.DeleteFunc(list, func(k model.ScopeKey) bool { return k.Kind == model.ScopeCluster })
	slices.SortFunc(list, model.ScopeKey.Compare)
	return slices.Compact(list)
}
