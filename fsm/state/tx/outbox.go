package tx

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
)

func onDelivery(t *Tx, old, next *outbox.Delivery) {
	reindex(&t.Outgoing, old, next, func(d *outbox.Delivery) (state.OutgoingKey, bool) {
		return state.OutgoingKey{Next: d.Next, Delivery: d.Key}, d.State == outbox.Pending
	})
	reindex(&t.Delivered, old, next, func(d *outbox.Delivery) (outbox.Key, bool) {
		return d.Key, d.State != outbox.Pending
	})
}

// post puts a notice into the outbox for every receiver.
func post(t *Tx, n *model.Notice) {
	for id, w := range t.Webhooks.Now().All() {
		if w.Wants(n) {
			Send(t, n, id.Outlet(), "", MostPending(&w))
		}
	}
	if n.Kind == model.NoticeAllocationGranted || n.Kind == model.NoticeAllocationLost {
		if a, _ := t.Allocations.Get(n.Allocation); a.Webhook != "" {
			Send(t, n, outbox.OfAllocation(a.ID), a.Webhook, outbox.MaxPending-state.MaxPendingKept)
		}
		return
	}
	if n.Job == 0 || n.Part {
		return
	}
	if job, _ := t.Jobs.Get(n.Job); job.Spec.Notify.Has(n.Kind) {
		Send(t, n, outbox.OfJob(job.ID), job.Spec.WebhookURL, outbox.MaxPending-state.MaxPendingKept)
	}
}

// MostPending returns how many deliveries may wait, of all webhooks, when another one is added for w.
func MostPending(w *outbox.Webhook) int {
	if w.Scope.Kind == model.ScopeCluster {
		return outbox.MaxPending
	}
	return outbox.MaxPending - state.MaxPendingKept
}

// Send adds a delivery of a notice to one outlet, if less than most deliveries wait. Deliveries without room
// in the outlet or the outbox are dropped and counted: a receiver that does not answer must not fill the
// state.
func Send(t *Tx, n *model.Notice, to outbox.OutletID, url string, most int) {
	out, _ := t.Outlets.Get(to)
	out.ID, out.URL = to, url
	if out.Pending >= outbox.MaxPendingOf || t.Outgoing.Now().Len() >= most {
		out.Dropped++
		if url == "" || out.Pending > 0 {
			t.Outlets.Put(out)
		}
		return
	}
	out.Pending++
	t.Outlets.Put(out)
	t.Deliveries.Put(outbox.Delivery{
		Key: outbox.Key{Index: n.Index, Ordinal: n.Ordinal, Outlet: to}, Notice: *n, State: outbox.Pending,
	})
}
