package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// settings shows and changes the settings of the whole cluster.
type settings struct{ api *core.API }

func (a settings) route(doc huma.API) {
	const path = "/cluster/settings"
	core.Handle(a.api, doc, core.Op("settings", http.MethodGet, path, "The settings of the whole cluster, and their allowed values"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Settings], error) {
			s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicSettings), nil)
			if err != nil {
				return nil, err
			}
			return &core.Answer[wire.Settings]{Index: s.Index, Body: &wire.Settings{Settings: a.api.Config.Settings.List(&s)}}, nil
		})
	core.HandleBody(a.api, doc, core.Example(core.Op("set-settings", http.MethodPut, path, "Change settings of the whole cluster"), `{"settings":{"retries":"7"}}`), a.set)
}

// set changes the values in the body; it changes nothing if any of them is not valid. Each command
// has a key of its own, so that a repeated request continues where it was.
func (a settings) set(ctx context.Context, in *core.BodyInput, b *wire.SetSettings) (*core.Answer[wire.Settings], error) {
	if len(b.Settings) == 0 {
		return nil, problem.Invalid("settings", "must contain at least one, see GET /cluster/settings")
	}
	s := a.api.State()
	bodies, err := a.api.Config.Settings.Change(&s, b.Settings)
	if err != nil {
		return nil, problem.Invalid("settings", err.Error())
	}
	index := s.Index
	for _, body := range bodies {
		own := in.Key
		if own != "" {
			own += "/" + body.Kind().String()
		}
		if _, index, err = a.api.Propose(ctx, own, body); err != nil {
			return nil, err
		}
	}
	s = a.api.State()
	return &core.Answer[wire.Settings]{Index: index, Body: &wire.Settings{Settings: a.api.Config.Settings.List(&s)}}, nil
}
