package tx

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// TallySpan counts how long something took.
func TallySpan(t *Tx, kind model.TallyKind, name string, d time.Duration) {
	key := model.TallyKey{Kind: kind, Name: name}
	n, _ := t.tallies.Get(key)
	n.Key = key
	n.Span(d)
	t.tallies.Put(n)
}

// TallyStep counts a step of a service's allocation, under the name that the service is counted under.
func TallyStep(t *Tx, service string, step model.TallyStep) {
	key := model.TallyKey{Kind: model.TallyService, Name: service}
	n, found := t.tallies.Get(key)
	if !found && services(t) >= model.MaxTallied {
		key.Name = model.OtherService
		n, _ = t.tallies.Get(key)
	}
	n.Key = key
	n.Counts[step]++
	t.tallies.Put(n)
}

// services returns how many services are counted by themselves.
func services(t *Tx) (n int) {
	for k := range t.tallies.Now().From(model.TallyKey{Kind: model.TallyService}) {
		if k.Kind != model.TallyService {
			break
		}
		if k.Name != model.OtherService {
			n++
		}
	}
	return n
}
