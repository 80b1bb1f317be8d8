package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// reservations reserves GPUs for users and projects, and nodes for maintenance.
type reservations struct{ api *API }

// reserveInput is the input of changes of reservations with a body.
type reserveInput struct {
	Key     string `header:"Idempotency-Key"`
	RawBody []byte
}

// unreserveInput is the input of DELETE /reservations/{reservation_id}.
type unreserveInput struct {
	Key  string `header:"Idempotency-Key"`
	ID   string `path:"reservation_id"`
	Note string `query:"note" maxLength:"512" doc:"why"`
}

func (a reservations) route(doc huma.API) {
	set := topics(model.TopicSettings, model.TopicFleet)
	handle(a.api, doc, op("reservations", http.MethodGet, "/reservations", "Reservations, and their limits"),
		func(ctx context.Context, in *watchInput) (*answer[wire.Reservations], error) {
			s, err := a.api.read(ctx, &in.Watch, set, nil)
			if err != nil {
				return nil, err
			}
			return &answer[wire.Reservations]{Index: s.Index, Body: a.list(&s)}, nil
		})
	reserve := newStrict[wire.Reserve]()
	o := op("reserve", http.MethodPost, "/reservations", "Reserve GPUs for a span of time, or nodes for their maintenance")
	o.Description = "Other jobs get these GPUs only if they end in time by their time limits. " +
		"With maintenance the nodes get no work in that time, and are drained when it begins."
	handleBody[wire.Reserve](a.api, doc, o, func(ctx context.Context, in *reserveInput) (*answer[wire.Reserved], error) {
		body, err := reserve.decode(in.RawBody)
		if err != nil {
			return nil, err
		}
		return a.reserve(ctx, in.Key, body)
	})
	handle(a.api, doc, op("cancel-reservation", http.MethodDelete, "/reservations/{reservation_id}", "Cancel a reservation or a maintenance"), a.cancel)
	limits := newStrict[wire.SetReservationLimits]()
	handleBody[wire.SetReservationLimits](a.api, doc, op("set-reservation-limits", http.MethodPut, "/reservations/limits", "Set the limits of reservations"),
		func(ctx context.Context, in *reserveInput) (*answer[wire.Reservations], error) {
			body, err := limits.decode(in.RawBody)
			if err != nil {
				return nil, err
			}
			return a.limit(ctx, in.Key, body)
		})
}

func (a reservations) list(s *state.State) *wire.Reservations {
	now := a.api.now(s)
	books := state.OpenBooks(s, now)
	caps := s.Settings().Booking.OrDefault()
	out := &wire.Reservations{Reservations: []wire.Reservation{}, Limits: wire.ReservationLimits{
		Percent: int64(caps.Percent), Ahead: wire.Duration(caps.Ahead), Longest: wire.Duration(caps.Longest), PerUser: int64(caps.PerUser),
		UserPercent: int64(caps.UserPercent),
	}}
	for _, b := range s.Bookings.All() {
		out.Reservations = append(out.Reservations, reservationOf(books, &b, now))
	}
	slices.SortStableFunc(out.Reservations, func(x, y wire.Reservation) int { return x.Start.Compare(y.Start) })
	return out
}

func reservationOf(books *state.Books, b *model.Booking, now model.Time) wire.Reservation {
	out := wire.Reservation{
		ID: b.ID.String(), Kind: b.Kind.String(), GPUs: int64(b.GPUs), GPUType: b.Model, Start: b.Start.Time(), End: b.End.Time(),
		State: "planned", Short: int64(books.Short(b.ID)), Reason: b.Note, CreatedBy: b.By, CreatedAt: b.Made.Time(),
	}
	switch {
	case b.End <= now:
		out.State = "over"
	case b.Start <= now:
		out.State = "active"
	}
	switch b.Owner.Kind {
	case model.ScopeUser:
		out.User = b.Owner.Name
	case model.ScopeProject:
		out.Project = b.Owner.Name
	case model.ScopeCluster:
	}
	for _, id := range b.NodeIDs() {
		out.Nodes = append(out.Nodes, string(id))
	}
	return out
}

// onNode returns the reservations that name a node, by their start.
func onNode(s *state.State, id model.NodeID, books *state.Books, now model.Time) (out []wire.Reservation) {
	for _, b := range s.Bookings.All() {
		if slices.Contains(b.NodeIDs(), id) {
			out = append(out, reservationOf(books, &b, now))
		}
	}
	slices.SortStableFunc(out, func(x, y wire.Reservation) int { return x.Start.Compare(y.Start) })
	return out
}

func (a reservations) reserve(ctx context.Context, key string, body *wire.Reserve) (*answer[wire.Reserved], error) {
	s := a.api.peer.Reader.State()
	if c := auth.From(ctx); c.Kind != auth.Open && body.User == "" && body.Project == "" && (body.Maintenance == nil || !*body.Maintenance) {
		body.User = c.Name
	}
	b, err := bookingOf(body, a.api.now(&s))
	if err != nil {
		return nil, err
	}
	if err := a.mayReserve(ctx, &s, b); err != nil {
		return nil, err
	}
	r, index, err := a.api.propose(ctx, key, &command.Book{Booking: *b, Capped: !isOperator(ctx)})
	if err != nil {
		return nil, err
	}
	s = a.api.peer.Reader.State()
	out := &wire.Reserved{Success: true, Message: "reserved"}
	now := a.api.now(&s)
	if row, found := s.Bookings.Get(model.BookingID(r.Number)); found {
		v := reservationOf(state.OpenBooks(&s, now), &row, now)
		out.Reservation = &v
	}
	return &answer[wire.Reserved]{Index: index, Body: out}, nil
}

// mayReserve returns an error if the caller may not make a booking: users may for themselves and
// their projects, operators for all users, and for the maintenance of nodes.
func (a reservations) mayReserve(ctx context.Context, s *state.State, b *model.Booking) error {
	c := auth.From(ctx)
	switch {
	case c.Role.Covers(model.RoleOperator):
		return nil
	case b.Kind == model.BookMaintenance:
		return denied("maintenance needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
	case b.Owner.Kind == model.ScopeProject:
		return a.api.gate.inProject(ctx, s, b.Owner.Name)
	case b.Owner.Name != c.Name:
		return denied("a reservation for another user needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
	}
	return nil
}

// mayUnreserve returns an error if the caller may not cancel a booking: one that they have made, or
// as an operator any.
func (a reservations) mayUnreserve(ctx context.Context, id model.BookingID) error {
	c := auth.From(ctx)
	s := a.api.peer.Reader.State()
	b, found := s.Bookings.Get(id)
	if !found && c.Kind != auth.Open { // it may have been acknowledged by another peer
		var err error
		if s, err = a.api.fresh(ctx, Linearizable); err != nil {
			return err
		}
		b, found = s.Bookings.Get(id)
	}
	if !found || c.Role.Covers(model.RoleOperator) || b.By == c.Actor() && c.Owns(c.Name, b.Made) {
		return nil // the state refuses a missing one
	}
	return denied("this reservation was made by another user: to cancel it needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
}

// bookingOf converts a body to a booking.
func bookingOf(r *wire.Reserve, now model.Time) (*model.Booking, error) {
	b := &model.Booking{Kind: model.BookGPUs, Model: r.GPUType, Note: r.Reason}
	if r.Maintenance != nil && *r.Maintenance {
		b.Kind = model.BookMaintenance
	}
	if err := fitting(r, b.Kind); err != nil {
		return nil, err
	}
	switch {
	case r.User != "" && r.Project != "":
		return nil, invalid("project", "must not be given together with user")
	case r.User != "":
		b.Owner = model.ScopeKey{Kind: model.ScopeUser, Name: r.User}
	case r.Project != "":
		b.Owner = model.ScopeKey{Kind: model.ScopeProject, Name: r.Project}
	case b.Kind == model.BookGPUs:
		return nil, invalid("user", "must be given, or project")
	}
	ids, err := nodeIDs(r.Nodes)
	if err != nil {
		return nil, err
	}
	b.Nodes = model.NodeList(ids)
	if b.GPUs, err = count("gpu_count", r.GPUs, 1, model.MaxBooked, 0); err != nil {
		return nil, err
	}
	return b, spanOf(r, b, now)
}

// fitting returns an error for a field that does not go with the kind of a booking, or is no name.
func fitting(r *wire.Reserve, kind model.BookingKind) error {
	for _, v := range []struct {
		field, name string
		given       bool
	}{{"user", r.User, r.User != ""}, {"project", r.Project, r.Project != ""}, {"gpu_count", "", r.GPUs != nil}, {"gpu_type", "", r.GPUType != ""}} {
		switch {
		case kind == model.BookMaintenance && v.given:
			return invalid(v.field, "must be left out: a maintenance takes whole nodes, for no user")
		case v.name != "" && !model.Name(v.name):
			return invalid(v.field, "must be the name of a user or project, not "+strconv.Quote(clip(v.name)))
		}
	}
	return nil
}

// nodeIDs parses names of nodes, and expands ranges of numbers such as n[1-4].
func nodeIDs(list []string) (ids []model.NodeID, err error) {
	for _, text := range list {
		names, err := model.ParseNodes(text)
		if err != nil {
			return nil, invalid("nodes", err.Error())
		}
		if len(names) == 0 {
			return nil, invalid("nodes", "must be ids of nodes, see GET /nodes")
		}
		for _, name := range names {
			ids = append(ids, model.NodeID(name))
		}
	}
	return ids, nil
}

// spanOf parses when a booking begins and ends.
func spanOf(r *wire.Reserve, b *model.Booking, now model.Time) (err error) {
	if b.Start, err = instant("start", cmp.Or(r.Start, "+0"), now); err != nil {
		return err
	}
	switch {
	case r.End == "" && r.Duration == nil:
		return invalid("duration", "must be given, or end")
	case r.End != "" && r.Duration != nil:
		return invalid("end", "must not be given together with duration")
	case r.Duration != nil:
		b.End = b.Start.Add(time.Duration(*r.Duration))
	default:
		if b.End, err = instant("end", r.End, now); err == nil && b.End <= b.Start {
			return invalid("end", "must be after the start, "+b.Start.Time().Format(time.RFC3339))
		}
	}
	return err
}

func (a reservations) cancel(ctx context.Context, in *unreserveInput) (*answer[wire.Reserved], error) {
	n, err := strconv.ParseUint(in.ID, 10, 64)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != in.ID {
		return nil, refuse(wire.CodeNotFound, "there is no such reservation: ids are numbers, see GET /reservations")
	}
	if err := a.mayUnreserve(ctx, model.BookingID(n)); err != nil {
		return nil, err
	}
	_, index, err := a.api.propose(ctx, in.Key, &command.CancelBooking{ID: model.BookingID(n), Note: in.Note})
	if err != nil {
		return nil, err
	}
	return &answer[wire.Reserved]{Index: index, Body: &wire.Reserved{Success: true, Message: "canceled"}}, nil
}

func (a reservations) limit(ctx context.Context, key string, body *wire.SetReservationLimits) (*answer[wire.Reservations], error) {
	s := a.api.peer.Reader.State()
	c, err := capsOf(&s, body)
	if err != nil {
		return nil, err
	}
	_, index, err := a.api.propose(ctx, key, c)
	if err != nil {
		return nil, err
	}
	s = a.api.peer.Reader.State()
	return &answer[wire.Reservations]{Index: index, Body: a.list(&s)}, nil
}

// capsOf converts a body to a change of the limits of reservations.
func capsOf(s *state.State, body *wire.SetReservationLimits) (*command.SetBookingCaps, error) {
	caps := s.Settings().Booking.OrDefault()
	caps.Next = 0
	for _, v := range []struct {
		field string
		value *int64
		most  int64
		to    *uint32
	}{{"percent", body.Percent, 100, &caps.Percent}, {"percent_per_user", body.UserPercent, 100, &caps.UserPercent}, {"per_user", body.PerUser, model.MaxBookings, &caps.PerUser}} {
		n, err := count(v.field, v.value, 1, v.most, int64(*v.to))
		if err != nil {
			return nil, err
		}
		*v.to = n
	}
	caps.Ahead = time.Duration(or(body.Ahead, wire.Duration(caps.Ahead)))
	caps.Longest = time.Duration(or(body.Longest, wire.Duration(caps.Longest)))
	return &command.SetBookingCaps{Caps: caps}, nil
}
