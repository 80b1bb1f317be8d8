package intake

import (
	"cmp"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Booking converts a body to a booking.
func Booking(r *wire.Reserve, now model.Time) (*model.Booking, error) {
	b := &model.Booking{Kind: model.BookGPUs, Model: r.GPUType, Note: r.Reason}
	if r.Maintenance != nil && *r.Maintenance {
		b.Kind = model.BookMaintenance
	}
	if err := fitting(r, b.Kind); err != nil {
		return nil, err
	}
	switch {
	case r.User != "" && r.Project != "":
		return nil, problem.Invalid("project", "must not be given together with user")
	case r.User != "":
		b.Owner = model.ScopeKey{Kind: model.ScopeUser, Name: r.User}
	case r.Project != "":
		b.Owner = model.ScopeKey{Kind: model.ScopeProject, Name: r.Project}
	case b.Kind == model.BookGPUs:
		return nil, problem.Invalid("user", "must be given, or project")
	}
	ids, err := nodeIDs(r.Nodes)
	if err != nil {
		return nil, err
	}
	b.Nodes = model.NodeList(ids)
	if b.GPUs, err = Count("gpu_count", r.GPUs, 1, model.MaxBooked, 0); err != nil {
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
			return problem.Invalid(v.field, "must be left out: a maintenance takes whole nodes, for no user")
		case v.name != "" && !model.Name(v.name):
			return problem.Invalid(v.field, "must be the name of a user or project, not "+strconv.Quote(strict.Clip(v.name)))
		}
	}
	return nil
}

// nodeIDs parses names of nodes, and expands ranges of numbers such as n[1-4].
func nodeIDs(list []string) (ids []model.NodeID, err error) {
	for _, text := range list {
		names, err := model.ParseNodes(text)
		if err != nil {
			return nil, problem.Invalid("nodes", err.Error())
		}
		if len(names) == 0 {
			return nil, problem.Invalid("nodes", "must be ids of nodes, see GET /nodes")
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
		return problem.Invalid("duration", "must be given, or end")
	case r.End != "" && r.Duration != nil:
		return problem.Invalid("end", "must not be given together with duration")
	case r.Duration != nil:
		b.End = b.Start.Add(time.Duration(*r.Duration))
	default:
		if b.End, err = instant("end", r.End, now); err == nil && b.End <= b.Start {
			return problem.Invalid("end", "must be after the start, "+b.Start.Time().Format(time.RFC3339))
		}
	}
	return err
}

// Caps converts a body to a change of the limits of reservations.
func Caps(now model.BookingCaps, body *wire.SetReservationLimits) (*command.SetBookingCaps, error) {
	caps := now.OrDefault()
	caps.Next = 0
	for _, v := range []struct {
		field string
		value *int64
		most  int64
		to    *uint32
	}{{"percent", body.Percent, 100, &caps.Percent}, {"percent_per_user", body.UserPercent, 100, &caps.UserPercent}, {"per_user", body.PerUser, model.MaxBookings, &caps.PerUser}} {
		n, err := Count(v.field, v.value, 1, v.most, int64(*v.to))
		if err != nil {
			return nil, err
		}
		*v.to = n
	}
	caps.Ahead = time.Duration(Or(body.Ahead, wire.Duration(caps.Ahead)))
	caps.Longest = time.Duration(Or(body.Longest, wire.Duration(caps.Longest)))
	return &command.SetBookingCaps{Caps: caps}, nil
}
