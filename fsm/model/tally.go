package model

import (
	"cmp"
	"time"
)

// Tally counts over the cluster's life, for its metrics, events of services and durations. It only grows, and
// is the same at every peer.
//
//berth:row
type Tally struct {
	Key    TallyKey           `cbor:"1,keyasint,omitempty"`
	Counts [TallyWidth]uint64 `cbor:"2,keyasint,omitempty"` // by TallyStep, or by span as [Spans] bounds them
	Sum    time.Duration      `cbor:"3,keyasint,omitempty"` // of the spans
}

// TallyKey names what is counted.
type TallyKey struct {
	Kind TallyKind `cbor:"1,keyasint,omitempty"`
	Name string    `cbor:"2,keyasint,omitempty"` // a service, or how an attempt ended; a tally of waits has none
}

// Compare orders by kind, then name.
func (k TallyKey) Compare(o TallyKey) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Name, o.Name))
}

// TallyKind is the kind of a tally.
type TallyKind uint8

// The kinds.
const (
	TallyService TallyKind = 1 // allocations of a service, by TallyStep
	TallyWait    TallyKind = 2 // from the request to having GPUs, of first starts of tasks and of allocations
	TallyRun     TallyKind = 3 // run times of attempts that ended as Name says: completed, failed, canceled, preempted or lost
)

// String returns the kind's name.
func (k TallyKind) String() string { return name(k, "", "service", "wait", "run") }

// TallyStep is a step of an allocation.
type TallyStep uint8

// The steps.
const (
	StepAsked     TallyStep = 0
	StepGranted   TallyStep = 1
	StepWithdrawn TallyStep = 2 // released while it waited
	StepReleased  TallyStep = 3
	StepExpired   TallyStep = 4
	StepLost      TallyStep = 5
)

const (
	// TallyWidth is how many counts a tally has.
	TallyWidth = 16
	// MaxTallied bounds the services that are counted by themselves; further ones are
	// counted under OtherService.
	MaxTallied = 200
	// OtherService is the name under which services beyond MaxTallied are counted.
	OtherService = "other"
)

// Spans returns the upper bounds of the spans of time that tallies count separately, ascending; the last
// count of a tally is of longer ones.
func Spans() [TallyWidth - 1]time.Duration {
	return [TallyWidth - 1]time.Duration{
		time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute,
		30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour, 72 * time.Hour, 168 * time.Hour,
	}
}

// Span counts a span of time.
func (t *Tally) Span(d time.Duration) {
	d = max(d, 0)
	i := 0
	for _, most := range Spans() {
		if d <= most {
			break
		}
		i++
	}
	t.Counts[i]++
	t.Sum = min(t.Sum, 1<<62) + min(d, MaxDuration)
}

// Total returns the sum of all counts.
func (t *Tally) Total() (sum uint64) {
	for _, n := range t.Counts {
		sum += n
	}
	return sum
}
