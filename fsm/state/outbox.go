package state

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// OutgoingKey orders pending deliveries by when they have to be tried.
type OutgoingKey struct {
	Next     model.Time
	Delivery model.DeliveryKey
}

// Compare orders by time, then delivery.
func (k OutgoingKey) Compare(o OutgoingKey) int {
	if k.Next != o.Next {
		if k.Next < o.Next {
			return -1
		}
		return 1
	}
	return k.Delivery.Compare(o.Delivery)
}

func onDelivery(t *tx, old, next *model.Delivery) {
	reindex(&t.outgoing, old, next, func(d *model.Delivery) (OutgoingKey, bool) {
		return OutgoingKey{d.Next, d.Key}, d.State == model.DeliveryPending
	})
	reindex(&t.delivered, old, next, func(d *model.Delivery) (model.DeliveryKey, bool) {
		return d.Key, d.State != model.DeliveryPending
	})
}

// post puts a notice into the outbox for every receiver.
func post(t *tx, n *model.Notice) {
	for id, w := range t.webhooks.now().All() {
		if w.Wants(n) {
			send(t, n, id.Outlet(), "", mostPending(&w))
		}
	}
	if n.Kind == model.NoticeAllocationGranted || n.Kind == model.NoticeAllocationLost {
		if a, _ := t.allocations.get(n.Allocation); a.Webhook != "" {
			send(t, n, a.ID.Outlet(), a.Webhook, model.MaxPending-MaxPendingKept)
		}
		return
	}
	if n.Job == 0 || n.Part {
		return
	}
	if job, _ := t.jobs.get(n.Job); job.Spec.Notify.Has(n.Kind) {
		send(t, n, job.ID.Outlet(), job.Spec.WebhookURL, model.MaxPending-MaxPendingKept)
	}
}

// mostPending returns how many deliveries may wait, of all webhooks, when another one is added for w.
func mostPending(w *model.Webhook) int {
	if w.Scope.Kind == model.ScopeCluster {
		return model.MaxPending
	}
	return model.MaxPending - MaxPendingKept
}

// send adds a delivery of a notice to one outlet, if less than most deliveries wait. Deliveries without room
// in the outlet or the outbox are dropped and counted: a receiver that does not answer must not fill the
// state.
func send(t *tx, n *model.Notice, to model.OutletID, url string, most int) {
	out, _ := t.outlets.get(to)
	out.ID, out.URL = to, url
	if out.Pending >= model.MaxPendingOf || t.outgoing.now().Len() >= most {
		out.Dropped++
		if url == "" || out.Pending > 0 {
			t.outlets.put(out)
		}
		return
	}
	out.Pending++
	t.outlets.put(out)
	t.deliveries.put(model.Delivery{
		Key: model.DeliveryKey{Index: n.Index, Ordinal: n.Ordinal, Outlet: to}, Notice: *n, State: model.DeliveryPending,
	})
}

func applySetWebhook(t *tx, b *command.SetWebhook) command.Result {
	w := b.Webhook
	old, found := t.webhooks.get(w.ID)
	if !found && t.webhooks.size() >= model.MaxWebhooks {
		return refuse(model.CodeLimit, "there are %d webhooks already: remove some first", model.MaxWebhooks)
	}
	if !found && w.Scope.Kind != model.ScopeCluster {
		own := keysWhere(t.webhooks.now().All(), func(o *model.Webhook) bool { return o.By == t.actor && o.Scope.Kind != model.ScopeCluster })
		if len(own) >= MaxWebhooksOf {
			return refuse(model.CodeLimit, "%s has made %d webhooks, as many as one caller may have: remove some first", t.actor, len(own))
		}
	}
	w.By, w.Made = t.actor, t.clock
	if found {
		w.By, w.Made = old.By, old.Made
	}
	t.webhooks.put(w)
	return ok()
}

func applyDropWebhook(t *tx, b *command.DropWebhook) command.Result {
	if !t.webhooks.has(b.ID) {
		return refuse(model.CodeNotFound, "there is no webhook %s", b.ID)
	}
	dropWebhook(t, b.ID)
	return ok()
}

// dropWebhook removes a webhook and its pending deliveries.
func dropWebhook(t *tx, id model.WebhookID) {
	outlet := id.Outlet()
	for _, k := range keysOf(t.deliveries.now().All(), func(model.DeliveryKey) bool { return true }) {
		if k.Outlet == outlet {
			t.deliveries.delete(k)
		}
	}
	t.outlets.delete(outlet)
	t.webhooks.delete(id)
}

func applyTestWebhook(t *tx, b *command.TestWebhook) command.Result {
	w, found := t.webhooks.get(b.ID)
	if !found {
		return refuse(model.CodeNotFound, "there is no webhook %s", b.ID)
	}
	if out, _ := t.outlets.get(b.ID.Outlet()); out.Pending >= model.MaxPendingOf || t.outgoing.now().Len() >= mostPending(&w) {
		return refuse(model.CodeLimit, "%d deliveries wait for webhook %s already: look at why they do not arrive", out.Pending, b.ID)
	}
	n := model.Notice{Kind: model.NoticeTest, Detail: "a test of this webhook", Name: string(w.ID)}
	if w.Scope.Kind == model.ScopeUser {
		n.User = w.Scope.Name
	}
	announce(t, n)
	n = t.news.list[len(t.news.list)-1]
	send(t, &n, b.ID.Outlet(), "", mostPending(&w))
	return command.Result{Number: t.meta.Index}
}

func applySetNotify(t *tx, b *command.SetNotify) command.Result {
	t.settings.Notify = b.Notify
	return ok()
}

func applyMarkDeliveries(t *tx, b *command.MarkDeliveries) command.Result {
	var n uint64
	for i := range b.Marks {
		if mark(t, &b.Marks[i]) {
			n++
		}
	}
	return command.Result{Number: n}
}

// mark notes the outcome of a try; one that was noted already, or of a delivery that was removed, changes
// nothing.
func mark(t *tx, m *command.Mark) bool {
	d, found := t.deliveries.get(m.Key)
	if !found || d.State != model.DeliveryPending || m.Tries != d.Tries+1 {
		return false
	}
	d.Tries, d.Last, d.Status, d.Error, d.Took = m.Tries, t.clock, m.Status, m.Error, m.Took
	out, _ := t.outlets.get(m.Key.Outlet)
	switch {
	case m.OK:
		d.State, d.Next = model.DeliveryDelivered, 0
		out.Pending--
		out.Delivered++
	case m.Next == model.Never:
		d.State, d.Next = model.DeliveryDead, 0
		out.Pending--
		out.Dead++
	default:
		d.Next = m.Next
	}
	t.deliveries.put(d)
	if _, kept := m.Key.Outlet.Webhook(); out.Pending == 0 && !kept {
		t.outlets.delete(out.ID)
	} else {
		t.outlets.put(out)
	}
	trimDelivered(t)
	return true
}

// trimDelivered removes the oldest deliveries that have ended, beyond those that are kept.
func trimDelivered(t *tx) {
	for t.delivered.now().Len() > model.MaxDelivered {
		for _, k := range keysOf(t.delivered.now().All(), firstOnly[model.DeliveryKey]()) {
			t.deliveries.delete(k)
		}
	}
}
