package bookings

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/apply/placement"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Book adds a reservation or a maintenance.
func Book(t *tx.Tx, c *command.Book) command.Result {
	b := c.Booking
	if r := whenAllowed(t, &b); !r.OK() {
		return r
	}
	if r := namesModel(t, &b); !r.OK() {
		return r
	}
	if r := namesNodes(t, &b); !r.OK() {
		return r
	}
	if n := t.Bookings.Size(); n >= model.MaxBookings || c.Capped && n >= model.MaxUserBookings {
		return tx.Refuse(model.CodeLimit, "the cluster has %d reservations and maintenances already, of %d at most, and the last %d are for "+
			"operators: cancel one first", n, model.MaxBookings, model.MaxBookings-model.MaxUserBookings)
	}
	b.By, b.Made = t.Actor, t.Clock
	b.ID = t.Settings.Booking.Next + 1
	var r command.Result
	if b.Kind == model.BookGPUs {
		r = mayBook(t, &b, c.Capped)
	} else {
		r = mayMaintain(t, &b)
	}
	if !r.OK() {
		return r
	}
	t.Settings.Booking.Next = b.ID
	t.Bookings.Put(b)
	return command.Result{Number: uint64(b.ID)}
}

// whenAllowed reports whether a booking may have its start and end.
func whenAllowed(t *tx.Tx, b *model.Booking) command.Result {
	caps := t.Settings.Booking.OrDefault()
	switch {
	case b.Start < t.Clock.Add(-model.BookingMayBegin):
		return tx.Refuse(model.CodeConflict, "it would begin %s ago: let it begin now or later", t.Clock.Sub(b.Start).Round(time.Second))
	case b.End <= t.Clock:
		return tx.Refuse(model.CodeConflict, "it would be over already: let it end later")
	case b.Kind == model.BookGPUs && b.Start.Sub(t.Clock) > caps.Ahead:
		return tx.Refuse(model.CodeLimit, "it would begin in %s: GPUs may be reserved at most %s ahead", b.Start.Sub(t.Clock).Round(time.Second), caps.Ahead)
	case b.Kind == model.BookGPUs && b.End.Sub(b.Start) > caps.Longest:
		return tx.Refuse(model.CodeLimit, "it would last %s: GPUs may be reserved for at most %s", b.End.Sub(b.Start), caps.Longest)
	}
	return tx.OK()
}

// namesModel replaces a pattern of a model by the model itself: bookings are counted by model.
func namesModel(t *tx.Tx, b *model.Booking) command.Result {
	if b.Model == "" {
		return tx.OK()
	}
	ids := b.NodeIDs()
	var kinds []string
	for _, g := range t.GPUs.Now().All() {
		if g.Model == b.Model {
			return tx.OK()
		}
		if model.OfModel(b.Model, g.Model) && (len(ids) == 0 || slices.Contains(ids, g.Node)) && !slices.Contains(kinds, g.Model) {
			kinds = append(kinds, g.Model)
		}
	}
	slices.Sort(kinds)
	switch len(kinds) {
	case 0:
		return tx.OK() // it will be refused for lack of GPUs
	case 1:
		b.Model = kinds[0]
		return tx.OK()
	}
	return tx.Refuse(model.CodeInvalid, "%s finds GPUs of several models: name one of %q", b.Model, kinds)
}

// namesNodes fills in what follows from the nodes that a booking names: their type of GPU and, if no number
// is given, all of their GPUs.
func namesNodes(t *tx.Tx, b *model.Booking) command.Result {
	ids := b.NodeIDs()
	var each uint32
	for _, id := range ids {
		if !t.Nodes.Has(id) {
			return tx.Refuse(model.CodeNotFound, "there is no node %s", id)
		}
		var kinds []string
		var n uint32
		for _, gpu := range tx.GpusOf(t, id) {
			if g := t.GPUs.Must(gpu); b.Model == "" || g.Model == b.Model {
				n++
				kinds = append(kinds, g.Model)
			}
		}
		slices.Sort(kinds)
		kinds = slices.Compact(kinds)
		switch {
		case b.Kind == model.BookMaintenance:
			continue
		case n == 0:
			return tx.Refuse(model.CodeInvalid, "node %s has no GPU%s", id, ofModel(b.Model))
		case len(kinds) > 1:
			return tx.Refuse(model.CodeInvalid, "node %s has GPUs of several models: name one of %q", id, kinds)
		case b.GPUs == 0 && each > 0 && each != n:
			return tx.Refuse(model.CodeInvalid, "the nodes have different numbers of GPUs: give the number, or reserve them one by one")
		}
		b.Model, each = kinds[0], n
	}
	if b.Kind == model.BookGPUs && b.GPUs == 0 {
		b.GPUs = each * uint32(len(ids))
	}
	return tx.OK()
}

func ofModel(name string) string {
	if name == "" {
		return ""
	}
	return " of model " + name
}

// mayBook reports whether GPUs may be booked under the caps, the owner's limits and other bookings.
func mayBook(t *tx.Tx, b *model.Booking, capped bool) command.Result {
	caps := t.Settings.Booking.OrDefault()
	var mine uint32
	for _, o := range t.Bookings.Now().All() {
		if o.End > t.Clock && (o.Owner == b.Owner || capped && o.By == b.By) {
			mine++
		}
	}
	if mine >= caps.PerUser {
		return tx.Refuse(model.CodeLimit, "%s has %d reservations already, as many as allowed: cancel one first", b.Owner, mine)
	}
	land := newLand(t, b)
	if r := withinOwner(t, land, capped); !r.OK() {
		return r
	}
	most := land.all * caps.Percent / 100
	for _, at := range land.moments() {
		if n := land.booked(at, func(*model.Booking) bool { return true }); n > most {
			return tx.Refuse(model.CodeLimit, "%d GPUs would be reserved at once: at most %d may be, %d %% of the cluster's %d", n, most, caps.Percent, land.all)
		}
		if what := land.lacks(at); what != "" {
			return tx.Refuse(model.CodeUnavailable, "%s", what)
		}
	}
	return tx.OK()
}

// mayMaintain reports whether nodes may be maintained in addition to all other bookings.
func mayMaintain(t *tx.Tx, b *model.Booking) command.Result {
	for _, id := range b.NodeIDs() {
		for _, o := range t.Bookings.Now().All() {
			if o.Kind == model.BookMaintenance && o.Overlaps(b) && slices.Contains(o.NodeIDs(), id) {
				return tx.Refuse(model.CodeConflict, "node %s has maintenance %s then: cancel that first", id, o.ID)
			}
		}
	}
	for _, o := range t.Bookings.Now().All() {
		if o.Kind != model.BookGPUs || !o.Overlaps(b) || o.End <= t.Clock {
			continue
		}
		land := newLand(t, &o)
		land.others = append(land.others, *b)
		for _, at := range land.moments() {
			if what := land.lacks(at); what != "" {
				return tx.Refuse(model.CodeConflict, "reservation %s of %s could not be met: %s", o.ID, o.Owner, what)
			}
		}
	}
	return tx.OK()
}

// land is a booking's demand and the cluster's supply: all listed GPUs, whatever their owner now.
type land struct {
	t      *tx.Tx
	b      *model.Booking
	all    uint32          // the cluster's GPUs
	others []model.Booking // that overlap it
}

func newLand(t *tx.Tx, b *model.Booking) *land {
	l := &land{t: t, b: b}
	for _, g := range t.GPUs.Now().All() {
		if g.Health != model.HealthMissing {
			l.all++
		}
	}
	for _, o := range t.Bookings.Now().All() {
		if o.ID != b.ID && o.Overlaps(b) && o.End > t.Clock {
			l.others = append(l.others, o)
		}
	}
	return l
}

// moments returns the instants at which most may be booked at the same time: its own start, and those of
// others.
func (l *land) moments() []model.Time {
	out := []model.Time{l.b.Start}
	for i := range l.others {
		if l.b.Holds(l.others[i].Start) {
			out = append(out, l.others[i].Start)
		}
	}
	return out
}

// booked returns the sum of the GPUs of bookings at an instant.
func (l *land) booked(at model.Time, counts func(*model.Booking) bool) (n uint32) {
	for _, o := range append([]model.Booking{*l.b}, l.others...) {
		if o.Kind == model.BookGPUs && o.Holds(at) && counts(&o) {
			n += o.GPUs
		}
	}
	return n
}

// has returns the number of GPUs that exist and have no maintenance in the booking's time.
func (l *land) has(suits func(*model.GPU) bool) (n uint32) {
	for _, g := range l.t.GPUs.Now().All() {
		if g.Health != model.HealthMissing && !l.shut(g.Node) && suits(&g) {
			n++
		}
	}
	return n
}

// hasOn is has for the GPUs of a model on one node.
func (l *land) hasOn(id model.NodeID, name string) (n uint32) {
	if l.shut(id) {
		return 0
	}
	for _, key := range tx.GpusOf(l.t, id) {
		if g, _ := l.t.GPUs.Get(key); g.Health != model.HealthMissing && g.Model == name {
			n++
		}
	}
	return n
}

// shut reports whether a node has a maintenance in the booking's time.
func (l *land) shut(id model.NodeID) bool {
	return slices.ContainsFunc(l.others, func(o model.Booking) bool {
		return o.Kind == model.BookMaintenance && slices.Contains(o.NodeIDs(), id)
	})
}

// lacks returns what is too scarce for all bookings at an instant; empty if nothing is.
func (l *land) lacks(at model.Time) string {
	need := l.booked(at, func(*model.Booking) bool { return true })
	if has := l.has(func(*model.GPU) bool { return true }); need > has {
		return fmt.Sprintf("%d GPUs would be reserved at once, and the cluster has %d then", need, has)
	}
	name := l.b.Model
	if name == "" {
		return ""
	}
	need = l.booked(at, func(o *model.Booking) bool { return o.Model == name })
	if has := l.has(func(g *model.GPU) bool { return g.Model == name }); need > has {
		return fmt.Sprintf("%d GPUs of model %s would be reserved at once, and the cluster has %d then", need, name, has)
	}
	for _, id := range l.b.NodeIDs() {
		need = 0
		for _, o := range append([]model.Booking{*l.b}, l.others...) {
			if ids := o.NodeIDs(); o.Kind == model.BookGPUs && o.Holds(at) && o.Model == name && slices.Contains(ids, id) {
				need += o.GPUs / uint32(len(ids))
			}
		}
		if has := l.hasOn(id, name); need > has {
			return fmt.Sprintf("%d GPUs would be reserved on node %s at once, and it has %d then", need, id, has)
		}
	}
	return ""
}

// CancelBooking ends a booking, whether or not it has begun.
func CancelBooking(t *tx.Tx, c *command.CancelBooking) command.Result {
	b, found := t.Bookings.Get(c.ID)
	if !found {
		return tx.Refuse(model.CodeNotFound, "there is no reservation %s", c.ID)
	}
	EndBooking(t, &b)
	return command.Result{Number: uint64(b.ID)}
}

// TurnBookings begins bookings whose time has come and ends those whose time is over.
func TurnBookings(t *tx.Tx, c *command.TurnBookings) command.Result {
	var n uint64
	for _, id := range c.IDs {
		b, found := t.Bookings.Get(id)
		switch {
		case !found:
			continue
		case b.End <= t.Clock:
			EndBooking(t, &b)
		case b.Start <= t.Clock && !b.Begun:
			beginBooking(t, &b)
		default:
			continue
		}
		n++
	}
	return command.Result{Number: n}
}

// SetBookingCaps replaces how much users may book.
func SetBookingCaps(t *tx.Tx, c *command.SetBookingCaps) command.Result {
	next := t.Settings.Booking.Next
	t.Settings.Booking = c.Caps
	t.Settings.Booking.Next = next
	return tx.OK()
}

// reasonOf returns the reason on nodes that are closed for a maintenance, by which it recognizes them.
func reasonOf(b *model.Booking) string {
	text := "maintenance " + b.ID.String()
	if b.Note != "" {
		text += ": " + b.Note
	}
	return model.Clip(text)
}

// beginBooking notes that a booking is in force; nodes under maintenance are drained. One that an operator
// has closed before stays closed by that.
func beginBooking(t *tx.Tx, b *model.Booking) {
	b.Begun = true
	t.Bookings.Put(*b)
	if b.Kind != model.BookMaintenance {
		return
	}
	for _, id := range b.NodeIDs() {
		n, found := t.Nodes.Get(id)
		if !found {
			continue
		}
		if n.Mode == model.ModeOpen {
			n.Mode, n.ModeReason = model.ModeDraining, reasonOf(b)
			t.Nodes.Put(n)
		}
		for _, r := range tx.LiveRanks(t, id) {
			placement.Stop(t, r.Key.Attempt(), model.ReasonDrain, model.Clip("node "+string(id)+" has "+reasonOf(b)))
		}
	}
}

// EndBooking ends a booking; nodes that only the booking has closed are opened.
func EndBooking(t *tx.Tx, b *model.Booking) {
	t.Bookings.Delete(b.ID)
	if b.Kind != model.BookMaintenance || !b.Begun {
		return
	}
	for _, id := range b.NodeIDs() {
		if n, found := t.Nodes.Get(id); found && n.Mode == model.ModeDraining && n.ModeReason == reasonOf(b) {
			n.Mode, n.ModeReason = model.ModeOpen, ""
			t.Nodes.Put(n)
		}
	}
}
