// Package tally has counts over the life of the cluster, as rows of the state.
//
//berth:pure
package tally

import (
	"cmp"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Row counts over the cluster's life, for its metrics, events of services and durations. It only grows, and
// is the same at every peer.
//
//berth:row
type Row struct {
	Key    Key           `cbor:"1,keyasint,omitempty"`
	Counts [Width]uint64 `cbor:"2,keyasint,omitempty"` // by Step, or by span as [Spans] bounds them
	Sum    time.Duration `cbor:"3,keyasint,omitempty"` // of the spans
}

// Key names what is counted.
type Key struct {
	Kind Kind   `cbor:"1,keyasint,omitempty"`
	Name string `cbor:"2,keyasint,omitempty"` // a service, or how an attempt ended; a tally of waits has none
}

// Compare orders by kind, then name.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Name, o.Name))
}

// Kind is the kind of a tally.
type Kind uint8

// The kinds.
const (
	Service Kind = 1 // allocations of a service, by Step
	Wait    Kind = 2 // from the request to having GPUs, of first starts of tasks and of allocations
	Run     Kind = 3 // run times of attempts that ended as Name says: completed, failed, canceled, preempted or lost
)

// String returns the kind's name.
func (k Kind) String() string { return model.NameOf(k, "", "service", "wait", "run") }

// Step is a step of an allocation.
type Step uint8

// The steps.
const (
	Asked     Step = 0
	Granted   Step = 1
	Withdrawn Step = 2 // released while it waited
	Released  Step = 3
	Expired   Step = 4
	Lost      Step = 5
)

const (
	// Width is how many counts a tally has.
	Width = 16
	// Most bounds the services that are counted by themselves; further ones are
	// counted under Other.
	Most = 200
	// Other is the name under which services beyond Most are counted.
	Other = "other"
)

// Spans returns the upper bounds of the spans of time that tallies count separately, ascending; the last
// count of a tally is of longer ones.
func Spans() [Width - 1]time.Duration {
	return [Width - 1]time.Duration{
		time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute,
		30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour, 72 * time.Hour, 168 * time.Hour,
	}
}

// Span counts a span of time.
func (t *Row) Span(d time.Duration) {
	d = max(d, 0)
	i := 0
	for _, most := range Spans() {
		if d <= most {
			break
		}
		i++
	}
	t.Counts[i]++
	t.Sum = min(t.Sum, 1<<62) + min(d, model.MaxDuration)
}

// Total returns the sum of all counts.
func (t *Row) Total() (sum uint64) {
	for _, n := range t.Counts {
		sum += n
	}
	return sum
}
