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

// checkImport: an open import has an id, stops all placements, and has had no more parts than there are.
func checkImport(c *checker) {
	set := c.s.Settings()
	i := set.Import
	c.hold(!i.Open || set.Standstill, InTurn, "an import is open, and jobs may be placed")
	c.hold(!i.ID.IsZero() || i.Parts == 0 && !i.Open, References, "an import has no id")
	c.hold(i.Next <= i.Parts, TotalsAgree, "an import has had %d of its %d parts", i.Next, i.Parts)
	c.hold(uint64(i.Jobs) <= set.Totals.Submitted, TotalsAgree, "an import has brought %d jobs, %d tasks were submitted", i.Jobs, set.Totals.Submitted)
	c.hold(i.Since <= set.Clock, OnlyForward, "an import has jobs of %d, the clock is at %d", i.Since, set.Clock)
}

// moveImport: there is one in a cluster's life, it goes forward, and an ended one does not open again.
func moveImport(m *mover) {
	a, b := m.was.Settings().Import, m.s.Settings().Import
	m.hold(a.ID == b.ID && a.Parts == b.Parts || a.ID.IsZero(), OnlyForward, "one import follows another")
	m.hold(b.Next >= a.Next && b.Jobs >= a.Jobs && b.Left >= a.Left && b.Since >= a.Since, OnlyForward, "an import goes back from %+v to %+v", a, b)
	m.hold(a.Open || !b.Open || a.ID.IsZero(), OnlyForward, "an import opens again")
}
