package admin

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// SetWebhook adds or replaces a webhook.
func SetWebhook(t *tx.Tx, b *command.SetWebhook) command.Result {
	w := b.Webhook
	old, found := t.Webhooks.Get(w.ID)
	most := outbox.MaxWebhooks
	if b.Webhook.Scope.Kind != model.ScopeCluster {
		most -= most / state.OperatorPart // the rest is for the cluster's own
	}
	if !found && t.Webhooks.Size() >= most {
		return tx.Refuse(model.CodeLimit, "there are %d webhooks already: remove some first", t.Webhooks.Size())
	}
	if !found && w.Scope.Kind != model.ScopeCluster {
		own := tx.KeysWhere(t.Webhooks.Now().All(), func(o *outbox.Webhook) bool { return o.By == t.Actor && o.Scope.Kind != model.ScopeCluster })
		if len(own) >= state.MaxWebhooksOf {
			return tx.Refuse(model.CodeLimit, "%s has made %d webhooks, as many as one caller may have: remove some first", t.Actor, len(own))
		}
	}
	w.By, w.Made = t.Actor, t.Clock
	if found {
		w.By, w.Made = old.By, old.Made
	}
	t.Webhooks.Put(w)
	return tx.OK()
}

// DropWebhook removes a webhook with its deliveries.
func DropWebhook(t *tx.Tx, b *command.DropWebhook) command.Result {
	if !t.Webhooks.Has(b.ID) {
		return tx.Refuse(model.CodeNotFound, "there is no webhook %s", b.ID)
	}
	dropWebhook(t, b.ID)
	return tx.OK()
}

// dropWebhook removes a webhook and its pending deliveries.
func dropWebhook(t *tx.Tx, id outbox.WebhookID) {
	outlet := id.Outlet()
	for _, k := range tx.KeysOf(t.Deliveries.Now().All(), func(outbox.Key) bool { return true }) {
		if k.Outlet == outlet {
			t.Deliveries.Delete(k)
		}
	}
	t.Outlets.Delete(outlet)
	t.Webhooks.Delete(id)
}

// TestWebhook adds a delivery that tests a webhook.
func TestWebhook(t *tx.Tx, b *command.TestWebhook) command.Result {
	w, found := t.Webhooks.Get(b.ID)
	if !found {
		return tx.Refuse(model.CodeNotFound, "there is no webhook %s", b.ID)
	}
	if out, _ := t.Outlets.Get(b.ID.Outlet()); out.Pending >= outbox.MaxPendingOf || t.Outgoing.Now().Len() >= tx.MostPending(&w) {
		return tx.Refuse(model.CodeLimit, "%d deliveries wait for webhook %s already: look at why they do not arrive", out.Pending, b.ID)
	}
	n := model.Notice{Kind: model.NoticeTest, Detail: "a test of this webhook", Name: string(w.ID)}
	if w.Scope.Kind == model.ScopeUser {
		n.User = w.Scope.Name
	}
	tx.Announce(t, n)
	n = t.News.List[len(t.News.List)-1]
	tx.Send(t, &n, b.ID.Outlet(), "", tx.MostPending(&w))
	return command.Result{Number: t.Meta.Index}
}

// SetNotify replaces the thresholds of notices.
func SetNotify(t *tx.Tx, b *command.SetNotify) command.Result {
	t.Settings.Notify = b.Notify
	return tx.OK()
}

// MarkDeliveries notes the outcome of tries to deliver.
func MarkDeliveries(t *tx.Tx, b *command.MarkDeliveries) command.Result {
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
func mark(t *tx.Tx, m *command.Mark) bool {
	d, found := t.Deliveries.Get(m.Key)
	if !found || d.State != outbox.Pending || m.Tries != d.Tries+1 {
		return false
	}
	d.Tries, d.Last, d.Status, d.Error, d.Took = m.Tries, t.Clock, m.Status, m.Error, m.Took
	out := t.Outlets.Must(m.Key.Outlet)
	switch {
	case m.OK:
		d.State, d.Next = outbox.Delivered, 0
		out.Pending--
		out.Delivered++
	case m.Next == model.Never:
		d.State, d.Next = outbox.Dead, 0
		out.Pending--
		out.Dead++
	default:
		d.Next = m.Next
	}
	t.Deliveries.Put(d)
	if _, kept := m.Key.Outlet.Webhook(); out.Pending == 0 && !kept {
		t.Outlets.Delete(out.ID)
	} else {
		t.Outlets.Put(out)
	}
	trimDelivered(t)
	return true
}

// trimDelivered removes the oldest deliveries that have ended, beyond those that are kept.
func trimDelivered(t *tx.Tx) {
	for t.Delivered.Now().Len() > outbox.MaxDelivered {
		for _, k := range tx.KeysOf(t.Delivered.Now().All(), tx.FirstOnly[outbox.Key]()) {
			t.Deliveries.Delete(k)
		}
	}
}
