package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// deliveries returns the results of notifications.
type deliveries struct{ api *core.API }

// deliveriesInput is the input of GET /deliveries.
type deliveriesInput struct {
	core.Watch
	To    string `query:"to" maxLength:"256" doc:"only to this place, such as job:17 or webhook:wh_1"`
	State string `query:"state" enum:"pending,delivered,dead" doc:"only in this state"`
	Limit int    `query:"limit" minimum:"1" maximum:"11000" default:"100"`
}

// webhookDeliveriesInput is the input of GET /webhooks/{webhook_id}/deliveries.
type webhookDeliveriesInput struct {
	core.Watch
	ID    string `path:"webhook_id"`
	State string `query:"state" enum:"pending,delivered,dead" doc:"only in this state"`
	Limit int    `query:"limit" minimum:"1" maximum:"11000" default:"100"`
}

func (a deliveries) route(doc huma.API) {
	o := core.Op("deliveries", http.MethodGet, "/deliveries", "Deliveries to webhooks, and their results")
	o.Description = "All waiting deliveries, and the newest thousand that have ended."
	core.Handle(a.api, doc, o, func(ctx context.Context, in *deliveriesInput) (*core.Answer[wire.Deliveries], error) {
		return a.list(ctx, &in.Watch, in.To, in.State, in.Limit)
	})
	core.Handle(a.api, doc, core.Op("webhook-deliveries", http.MethodGet, "/webhooks/{webhook_id}/deliveries", "Deliveries to one webhook, and their results"),
		func(ctx context.Context, in *webhookDeliveriesInput) (*core.Answer[wire.Deliveries], error) {
			id := outbox.WebhookID(in.ID)
			s := a.api.State()
			if _, err := findHook(ctx, &s, id); err != nil {
				return nil, err
			}
			return a.list(ctx, &in.Watch, string(id.Outlet()), in.State, in.Limit)
		})
}

func (a deliveries) list(ctx context.Context, watch *core.Watch, to, in string, limit int) (*core.Answer[wire.Deliveries], error) {
	s, err := a.api.Read(ctx, watch, core.Topics(model.TopicJob), nil)
	if err != nil {
		return nil, err
	}
	out := &wire.Deliveries{Deliveries: []wire.Delivery{}}
	for k, d := range s.Deliveries.All() {
		if (to == "" || string(k.Outlet) == to) && (in == "" || d.State.String() == in) && ownDelivery(ctx, &s, &d) {
			out.Deliveries = append(out.Deliveries, view.Delivery(&d))
		}
	}
	slices.Reverse(out.Deliveries)
	out.Deliveries = out.Deliveries[:min(limit, len(out.Deliveries))]
	return &core.Answer[wire.Deliveries]{Index: s.Index, Body: out}, nil
}
