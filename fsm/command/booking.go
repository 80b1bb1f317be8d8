package command

import (
	"github.com/berth-gpu/berth/fsm/model"
)

// Book makes a booking. With Nodes and no GPUs all GPUs of these nodes are booked. The fields that Apply sets
// (ID, By, Made, Begun) are left out. The result's Number is the booking's id.
type Book struct {
	Booking model.Booking `cbor:"1,keyasint,omitempty"`
	Capped  bool          `cbor:"2,keyasint,omitempty"` // the caller is no operator: what one user may book is bounded
}

// Kind returns KindBook.
func (*Book) Kind() Kind { return KindBook }

// Validate checks what can be checked without the cluster.
func (b *Book) Validate() error {
	if v := &b.Booking; v.ID != 0 || v.By != "" || v.Made != 0 || v.Begun {
		return invalid("id", "left out: the cluster gives it")
	}
	return b.Booking.Validate()
}

// CancelBooking ends a booking, whether it has begun or not.
type CancelBooking struct {
	ID   model.BookingID `cbor:"1,keyasint,omitempty"`
	Note string          `cbor:"2,keyasint,omitempty"`
}

// Kind returns KindCancelBooking.
func (*CancelBooking) Kind() Kind { return KindCancelBooking }

// Validate requires an id.
func (b *CancelBooking) Validate() error {
	if b.ID == 0 {
		return invalid("id", "a reservation's number")
	}
	return validNote(b.Note)
}

// TurnBookings names bookings whose start or end has come, as proposed by the leader; Apply checks that by
// the state's clock. Bookings for which nothing is due stay as they are.
type TurnBookings struct {
	IDs []model.BookingID `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindTurnBookings.
func (*TurnBookings) Kind() Kind { return KindTurnBookings }

// Validate bounds the list.
func (b *TurnBookings) Validate() error { return validCount("ids", len(b.IDs), 1, model.MaxBookings) }

// SetBookingCaps bounds new bookings, as a whole; existing ones stay. Caps.Next is ignored.
type SetBookingCaps struct {
	Caps model.BookingCaps `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetBookingCaps.
func (*SetBookingCaps) Kind() Kind { return KindSetBookingCaps }

// Validate checks the ranges.
func (b *SetBookingCaps) Validate() error { return b.Caps.Validate() }
