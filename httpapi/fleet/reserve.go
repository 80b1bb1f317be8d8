package fleet

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// reservations reserves GPUs for users and projects, and nodes for maintenance.
type reservations struct{ api *core.API }

// unreserveInput is the input of DELETE /reservations/{reservation_id}.
type unreserveInput struct {
	Key  string `header:"Idempotency-Key"`
	ID   string `path:"reservation_id"`
	Note string `query:"note" maxLength:"512" doc:"why"`
}

func (a reservations) route(doc huma.API) {
	set := core.Topics(model.TopicSettings, model.TopicFleet)
	core.Handle(a.api, doc, core.Op("reservations", http.MethodGet, "/reservations", "Reservations, and their limits"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Reservations], error) {
			s, err := a.api.Read(ctx, &in.Watch, set, nil)
			if err != nil {
				return nil, err
			}
			return &core.Answer[wire.Reservations]{Index: s.Index, Body: a.list(&s)}, nil
		})
	o := core.Example(core.Op("reserve", http.MethodPost, "/reservations", "Reserve GPUs for a span of time, or nodes for their maintenance"), `{"user":"ann","gpu_count":1,"start":"+2h","duration":"1h"}`)
	o.Description = "Other jobs get these GPUs only if they end in time by their time limits. " +
		"With maintenance the nodes get no work in that time, and are drained when it begins."
	core.HandleBody(a.api, doc, o, a.reserve)
	core.Handle(a.api, doc, core.Op("cancel-reservation", http.MethodDelete, "/reservations/{reservation_id}", "Cancel a reservation or a maintenance"), a.cancel)
	core.HandleBody(a.api, doc, core.Op("set-reservation-limits", http.MethodPut, "/reservations/limits", "Set the limits of reservations"), a.limit)
}

func (a reservations) list(s *state.State) *wire.Reservations {
	now := a.api.Now(s)
	books := state.OpenBooks(s, now)
	caps := s.Settings().Booking.OrDefault()
	out := &wire.Reservations{Reservations: []wire.Reservation{}, Limits: wire.ReservationLimits{
		Percent: int64(caps.Percent), Ahead: wire.Duration(caps.Ahead), Longest: wire.Duration(caps.Longest), PerUser: int64(caps.PerUser),
		UserPercent: int64(caps.UserPercent),
	}}
	for _, b := range s.Bookings.All() {
		out.Reservations = append(out.Reservations, view.Reservation(books, &b, now))
	}
	slices.SortStableFunc(out.Reservations, func(x, y wire.Reservation) int { return x.Start.Compare(y.Start) })
	return out
}

func (a reservations) reserve(ctx context.Context, in *core.BodyInput, body *wire.Reserve) (*core.Answer[wire.Reserved], error) {
	s := a.api.State()
	if c := auth.From(ctx); c.Kind != auth.Open && body.User == "" && body.Project == "" && (body.Maintenance == nil || !*body.Maintenance) {
		body.User = c.Name
	}
	b, err := intake.Booking(body, a.api.Now(&s))
	if err != nil {
		return nil, err
	}
	if err := a.mayReserve(ctx, &s, b); err != nil {
		return nil, err
	}
	r, index, err := a.api.Propose(ctx, in.Key, &command.Book{Booking: *b, Capped: !auth.From(ctx).Operates()})
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	out := &wire.Reserved{Success: true, Message: "reserved"}
	now := a.api.Now(&s)
	if row, found := s.Bookings.Get(model.BookingID(r.Number)); found {
		v := view.Reservation(state.OpenBooks(&s, now), &row, now)
		out.Reservation = &v
	}
	return &core.Answer[wire.Reserved]{Index: index, Body: out}, nil
}

// mayReserve returns an error if the caller may not make a booking: users may for themselves and
// their projects, operators for all users, and for the maintenance of nodes.
func (a reservations) mayReserve(ctx context.Context, s *state.State, b *model.Booking) error {
	c := auth.From(ctx)
	switch {
	case c.Role.Covers(model.RoleOperator):
		return nil
	case b.Kind == model.BookMaintenance:
		return problem.Denied("maintenance needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
	case b.Owner.Kind == model.ScopeProject:
		return a.api.Basis(ctx, s).InProject(b.Owner.Name)
	case b.Owner.Name != c.Name:
		return problem.Denied("a reservation for another user needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
	}
	return nil
}

// mayUnreserve returns an error if the caller may not cancel a booking: one that they have made, or
// as an operator any.
func (a reservations) mayUnreserve(ctx context.Context, id model.BookingID) error {
	c := auth.From(ctx)
	s := a.api.State()
	b, found := s.Bookings.Get(id)
	if !found && c.Kind != auth.Open { // it may have been acknowledged by another peer
		var err error
		if s, err = a.api.Fresh(ctx, peer.Linearizable); err != nil {
			return err
		}
		b, found = s.Bookings.Get(id)
	}
	if !found || c.Role.Covers(model.RoleOperator) || b.By == c.Actor() && c.Owns(c.Name, b.Made) {
		return nil // the state refuses a missing one
	}
	return problem.Denied("this reservation was made by another user: to cancel it needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
}

func (a reservations) cancel(ctx context.Context, in *unreserveInput) (*core.Answer[wire.Reserved], error) {
	n, err := strconv.ParseUint(in.ID, 10, 64)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != in.ID {
		return nil, problem.Refuse(wire.CodeNotFound, "there is no such reservation: ids are numbers, see GET /reservations")
	}
	if err := a.mayUnreserve(ctx, model.BookingID(n)); err != nil {
		return nil, err
	}
	_, index, err := a.api.Propose(ctx, in.Key, &command.CancelBooking{ID: model.BookingID(n), Note: in.Note})
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.Reserved]{Index: index, Body: &wire.Reserved{Success: true, Message: "canceled"}}, nil
}

func (a reservations) limit(ctx context.Context, in *core.BodyInput, body *wire.SetReservationLimits) (*core.Answer[wire.Reservations],
	error,
) {
	s := a.api.State()
	c, err := intake.Caps(s.Settings().Booking, body)
	if err != nil {
		return nil, err
	}
	_, index, err := a.api.Propose(ctx, in.Key, c)
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	return &core.Answer[wire.Reservations]{Index: index, Body: a.list(&s)}, nil
}
