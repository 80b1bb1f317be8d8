package notify

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
)

// never is a wait that only a change ends.
const never = time.Duration(1<<63 - 1)

// due returns what to try now, longest due first, at most so many and only what take accepts; and the time
// until more becomes due without a change.
func due(s *state.State, now model.Time, most int, take func(outbox.Key) bool) (list []outbox.Delivery, next time.Duration) {
	for k := range s.Outgoing.All() {
		if k.Next > now {
			return list, k.Next.Sub(now)
		}
		if len(list) == most {
			break
		}
		if take(k.Delivery) {
			d, _ := s.Deliveries.Get(k.Delivery)
			list = append(list, d)
		}
	}
	return list, never
}

// addressOf returns the address of an outlet; empty: it has none any longer.
func addressOf(s *state.State, id outbox.OutletID) string {
	if hook, is := id.Webhook(); is {
		w, _ := s.Webhooks.Get(hook)
		return w.URL
	}
	out, _ := s.Outlets.Get(id)
	return out.URL
}
