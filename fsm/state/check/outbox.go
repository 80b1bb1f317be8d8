package check

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// checkOutbox: pending deliveries are counted at their outlet, are bounded, and have an address; an attempt
// with a warning of its time limit runs.
func checkOutbox(c *checker) {
	outgoing, delivered := table.Table[state.OutgoingKey, state.None]{}.Fork(), table.Table[outbox.Key, state.None]{}.Fork()
	pending := map[outbox.OutletID]uint32{}
	for k, d := range c.s.Deliveries.All() {
		n := &d.Notice
		c.hold(n.Index == k.Index && n.Ordinal == k.Ordinal && n.Ordinal > 0 && n.Index <= c.s.Index, References,
			"delivery %+v is of notice %d.%d", k, n.Index, n.Ordinal)
		if d.State == outbox.Pending {
			outgoing.Put(state.OutgoingKey{Next: d.Next, Delivery: k}, state.None{})
			pending[k.Outlet]++
			c.hold(c.s.Outlets.Has(k.Outlet), References, "delivery %+v goes nowhere", k)
		} else {
			delivered.Put(k, state.None{})
		}
	}
	same(c, SameOnReplay, "index Outgoing at", c.s.Outgoing, outgoing.Table())
	same(c, SameOnReplay, "index Delivered at", c.s.Delivered, delivered.Table())
	c.hold(outgoing.Table().Len() <= outbox.MaxPending, References, "%d deliveries wait", outgoing.Table().Len())
	c.hold(delivered.Table().Len() <= outbox.MaxDelivered, References, "%d deliveries that ended are kept", delivered.Table().Len())
	for id, v := range c.s.Outlets.All() {
		hook, is := id.Webhook()
		c.hold(v.Pending == pending[id] && v.Pending <= outbox.MaxPendingOf, TotalsAgree, "outlet %s counts %d that wait, there are %d", id,
			v.Pending, pending[id])
		c.hold(is && v.URL == "" && c.s.Webhooks.Has(hook) || !is && model.WebURL(v.URL) && v.Pending > 0, References,
			"outlet %s has no address, or nothing that waits", id)
	}
	checkWebhooks(c)
}

func checkWebhooks(c *checker) {
	c.hold(c.s.Webhooks.Len() <= outbox.MaxWebhooks, References, "%d webhooks are kept", c.s.Webhooks.Len())
	for _, w := range c.s.Webhooks.All() {
		w.By, w.Made = "", 0
		c.hold(w.Validate() == nil, References, "webhook %s is none: %v", w.ID, w.Validate())
	}
	for k := range c.s.Warned.All() {
		a, found := c.s.Attempts.Get(k)
		c.hold(found && a.Live(), References, "attempt %s was warned and does not live", k)
	}
}
