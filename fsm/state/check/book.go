package check

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/table"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// checkBookings: bookings are valid, and their ledger is that of the rows.
func checkBookings(c *checker) {
	caps := c.s.Settings().Booking
	for id, b := range c.s.Bookings.All() {
		asked := b
		asked.ID, asked.By, asked.Made, asked.Begun = 0, "", 0, false
		c.hold(id > 0 && id <= caps.Next, References, "booking %s exists, %s have been made", id, caps.Next)
		c.hold(asked.Validate() == nil, References, "booking %+v is none: %v", b, asked.Validate())
	}
	c.hold(c.s.Bookings.Len() <= model.MaxBookings, References, "%d bookings are kept", c.s.Bookings.Len())
	want, got := tx.CountLedger(c.s), c.s.Ledger()
	c.hold((want == nil) == (got == nil), SameOnReplay, "there is a ledger: %t, there are %d bookings", got != nil, c.s.Bookings.Len())
	if want == nil || got == nil {
		return
	}
	for _, id := range want.Differences(got) {
		c.hold(false, SameOnReplay, "the ledger of booking %s is not that of the rows", id)
	}
}

// moveBookings: numbers are not used again, and a command that gives GPUs to a holder leaves no booking with
// less than it had or needs.
func moveBookings(m *mover) {
	a, b := m.was.Settings().Booking.Next, m.s.Settings().Booking.Next
	m.hold(b >= a, OnlyForward, "the number of bookings goes from %s to %s", a, b)
	for id, d := range table.Diffs(m.was.Bookings, m.s.Bookings) {
		x, y := d.Before, d.After
		x.Begun, y.Begun = false, false
		m.hold(d.Was || id > a, NothingLost, "booking %s is new under an old number", id)
		m.hold(!d.Was || !d.Is || x == y && (d.After.Begun || !d.Before.Begun), OnlyForward, "booking %s goes from %+v to %+v", id, d.Before, d.After)
	}
	if m.one && m.was.Ledger() != nil && m.s.Ledger() != nil && gives(m) {
		for _, id := range m.s.Ledger().Worse(m.was.Ledger(), m.s.Settings().Clock) {
			m.hold(false, WithinLimits, "booking %s lacks more than before GPUs were given away", id)
		}
	}
}

// gives reports whether free slots have a holder now.
func gives(m *mover) bool {
	for _, d := range table.Diffs(m.was.Slots, m.s.Slots) {
		if d.Was && d.Is && d.Before.Owner == model.OwnerNone && (d.After.Owner == model.OwnerAttempt || d.After.Owner == model.OwnerAllocation) {
			return true
		}
	}
	return false
}
