package apply

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
)

func anyWebhook(g *gen) outbox.WebhookID { return outbox.WebhookID(fmt.Sprintf("wh_%d", g.roll(5))) }

func drawSetWebhook(g *gen) command.Body {
	w := outbox.Webhook{
		ID: anyWebhook(g), Scope: pick(g, model.ScopeKey{Kind: model.ScopeCluster}, model.ScopeKey{Kind: model.ScopeUser, Name: "alice"},
			model.ScopeKey{Kind: model.ScopeProject, Name: "vision"}),
		URL: "https://example.com/hook", Secret: model.NewHookSecret([32]byte{byte(g.roll(9))}), Note: pick(g, "", "channel"),
		Events: pick(g, model.AllNotices(), model.JobNotices(), model.NoticeSet(0).With(model.NoticeNodeSuspect)),
	}
	return &command.SetWebhook{Webhook: w}
}

// drawMarkDeliveries marks some of what waits, mostly as taken; now and then what was
// marked already, or is not there.
func drawMarkDeliveries(g *gen) command.Body {
	b := &command.MarkDeliveries{}
	for k := range g.s.Outgoing.All() {
		d, _ := g.s.Deliveries.Get(k.Delivery)
		m := command.Mark{Key: k.Delivery, Tries: d.Tries + 1, OK: g.roll(3) > 0, Status: 204, Took: time.Millisecond}
		if !m.OK {
			m.Status, m.Error, m.Next = 500, "it answers 500", pick(g, g.at.Add(time.Minute), g.at.Add(time.Hour), model.Never)
		}
		if g.roll(9) == 0 {
			m.Tries--
		}
		if b.Marks = append(b.Marks, m); len(b.Marks) > g.roll(60) {
			break
		}
	}
	if len(b.Marks) == 0 || g.roll(9) == 0 {
		b.Marks = append(b.Marks, command.Mark{Key: outbox.Key{Index: 1, Ordinal: 1, Outlet: "job:1"}, Tries: 1, OK: true})
	}
	return b
}
