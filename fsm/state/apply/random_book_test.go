package apply

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// drawBook draws a booking that begins within minutes, mostly of GPUs.
func drawBook(g *gen) command.Body {
	now := max(g.s.Settings().Clock, g.at)
	b := model.Booking{
		Kind: model.BookGPUs, Owner: pick(g, model.ScopeKey{Kind: model.ScopeUser, Name: "alice"},
			model.ScopeKey{Kind: model.ScopeUser, Name: "bob"}, model.ScopeKey{Kind: model.ScopeProject, Name: "vision"}),
		GPUs: uint32(1 + g.roll(4)), Model: pick(g, "", "", "H200"), Note: pick(g, "", "course"),
	}
	b.Start = now.Add(time.Duration(g.roll(300)-20) * time.Second)
	b.End = b.Start.Add(time.Duration(1+g.roll(300)) * time.Second)
	if g.roll(3) == 0 {
		b.Nodes, b.GPUs = string(anyNode(g)), uint32(g.roll(3))
	}
	if g.roll(4) == 0 {
		b = model.Booking{Kind: model.BookMaintenance, Nodes: string(anyNode(g)), Start: b.Start, End: b.End, Note: b.Note}
	}
	return &command.Book{Booking: b}
}

func anyBooking(g *gen) model.BookingID {
	if id, ok := first(g.s.Bookings, model.BookingID(1+g.roll(int(g.s.Settings().Booking.Next)+2))); ok {
		return id
	}
	return model.BookingID(1 + g.roll(3))
}

// drawTurnBookings names all bookings, now and then one that is not there.
func drawTurnBookings(g *gen) command.Body {
	b := &command.TurnBookings{IDs: []model.BookingID{anyBooking(g)}}
	for id := range g.s.Bookings.All() {
		b.IDs = append(b.IDs, id)
	}
	return b
}

func drawSetBookingCaps(g *gen) command.Body {
	return &command.SetBookingCaps{Caps: model.BookingCaps{
		Percent: uint32(50 + g.roll(51)), Ahead: time.Duration(1+g.roll(3)) * time.Hour,
		Longest: time.Duration(1+g.roll(300)) * time.Minute, PerUser: uint32(1 + g.roll(5)),
	}}
}
