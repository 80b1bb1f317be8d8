package tx

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model/tally"
)

// TallySpan counts how long something took.
func TallySpan(t *Tx, kind tally.Kind, name string, d time.Duration) {
	key := tally.Key{Kind: kind, Name: name}
	n, _ := t.tallies.Get(key)
	n.Key = key
	n.Span(d)
	t.tallies.Put(n)
}

// TallyStep counts a step of a service's allocation, under the name that the service is counted under.
func TallyStep(t *Tx, service string, step tally.Step) {
	key := tally.Key{Kind: tally.Service, Name: service}
	n, found := t.tallies.Get(key)
	if !found && services(t) >= tally.Most {
		key.Name = tally.Other
		n, _ = t.tallies.Get(key)
	}
	n.Key = key
	n.Counts[step]++
	t.tallies.Put(n)
}

// services returns how many services are counted by themselves.
func services(t *Tx) (n int) {
	for k := range t.tallies.Now().From(tally.Key{Kind: tally.Service}) {
		if k.Kind != tally.Service {
			break
		}
		if k.Name != tally.Other {
			n++
		}
	}
	return n
}
