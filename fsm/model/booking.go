package model

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BookingID numbers bookings densely in the order of the log, from 1. Apply assigns it.
type BookingID uint64

// Compare orders bookings as they were made.
func (id BookingID) Compare(o BookingID) int { return cmp.Compare(id, o) }

// String returns the number in decimal.
func (id BookingID) String() string { return strconv.FormatUint(uint64(id), 10) }

// BookingKind is the purpose of a booking.
type BookingKind uint8

// The kinds of bookings.
const (
	BookGPUs        BookingKind = 1 // GPUs are for their owner's jobs only
	BookMaintenance BookingKind = 2 // nodes take no work and are drained
)

// String returns the kind's name.
func (k BookingKind) String() string { return NameOf(k, "", "reservation", "maintenance") }

// Booking reserves GPUs for a user or a project, or whole nodes for their maintenance, for a span of time.
//
//berth:row
type Booking struct {
	ID    BookingID   `cbor:"1,keyasint,omitempty"`
	Kind  BookingKind `cbor:"2,keyasint,omitempty"`
	Owner ScopeKey    `cbor:"3,keyasint,omitempty"` // a user or a project; zero for a maintenance
	GPUs  uint32      `cbor:"4,keyasint,omitempty"` // in all; the same number on each of Nodes
	Model string      `cbor:"5,keyasint,omitempty"` // of the GPUs; empty: any. Where Nodes are named, theirs
	Nodes string      `cbor:"6,keyasint,omitempty"` // their ids in order, separated by spaces; empty: anywhere
	Start Time        `cbor:"7,keyasint,omitempty"`
	End   Time        `cbor:"8,keyasint,omitempty"` // the first instant after it
	Note  string      `cbor:"9,keyasint,omitempty"` // why
	By    string      `cbor:"10,keyasint,omitempty"`
	Made  Time        `cbor:"11,keyasint,omitempty"`
	Begun bool        `cbor:"12,keyasint,omitempty"` // the leader has announced that Start has come
}

// Bounds of bookings.
const (
	MaxBookings     = 256
	MaxUserBookings = MaxBookings / 2 // beyond so many only operators book
	MaxBookedNodes  = 64
	MaxBooked       = 1_000_000   // GPUs of one
	BookingMayBegin = time.Minute // how long ago it may begin when it is made: it was on its way
)

// NodeIDs returns the named nodes.
func (b *Booking) NodeIDs() (ids []NodeID) {
	for id := range strings.FieldsSeq(b.Nodes) {
		ids = append(ids, NodeID(id))
	}
	return ids
}

// NodeList formats nodes as a booking holds them: in order, each once.
func NodeList(ids []NodeID) string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(id))
	}
	return b.String()
}

// Title returns a description of the booking: "reservation 3 of user alice (8 GPUs from 2026-12-01T09:00:00Z
// to 2026-12-01T13:00:00Z)".
func (b *Booking) Title() string {
	text := b.Kind.String() + " " + b.ID.String()
	span := "from " + b.Start.Time().Format(time.RFC3339) + " to " + b.End.Time().Format(time.RFC3339)
	if b.Kind == BookMaintenance {
		return text + " (" + span + ")"
	}
	gpus := " GPUs "
	if b.GPUs == 1 {
		gpus = " GPU "
	}
	return text + " of " + b.Owner.String() + " (" + strconv.FormatUint(uint64(b.GPUs), 10) + gpus + span + ")"
}

// Overlaps reports whether two bookings have an instant in common.
func (b *Booking) Overlaps(o *Booking) bool { return b.Start < o.End && o.Start < b.End }

// Holds reports whether the booking is in force at an instant.
func (b *Booking) Holds(at Time) bool { return b.Start <= at && at < b.End }

// For reports whether the booking is for the jobs of a user within a project.
func (b *Booking) For(user, project string) bool {
	switch b.Owner.Kind {
	case ScopeUser:
		return b.Owner.Name == user
	case ScopeProject:
		return project != "" && b.Owner.Name == project
	case ScopeCluster:
	}
	return false
}

// Validate returns what is invalid in a new booking itself.
func (b *Booking) Validate() error {
	if b.Start <= 0 || b.End <= b.Start || b.End.Sub(b.Start) > MaxDuration {
		return want("duration", "more than 0 and at most %s", MaxDuration)
	}
	if !Text(b.Note, MaxText) {
		return WantText("reason", b.Note, MaxText)
	}
	ids := b.NodeIDs()
	if len(ids) > MaxBookedNodes || NodeList(ids) != b.Nodes || slices.ContainsFunc(ids, func(id NodeID) bool { return !Name(string(id)) }) {
		return want("nodes", "at most %d nodes, each once", MaxBookedNodes)
	}
	switch b.Kind {
	case BookGPUs:
		return b.validGPUs(len(ids))
	case BookMaintenance:
		return b.validMaintenance(len(ids))
	}
	return want("kind", "a reservation or a maintenance")
}

func (b *Booking) validGPUs(nodes int) error {
	owned := b.Owner.Kind == ScopeUser || b.Owner.Kind == ScopeProject
	switch {
	case !owned || !Name(b.Owner.Name):
		return want("owner", "a user or a project")
	case b.GPUs > MaxBooked || b.GPUs == 0 && nodes == 0:
		return want("gpus", "1 to %d", MaxBooked)
	case nodes > 0 && b.GPUs%uint32(nodes) != 0:
		return want("gpus", "a multiple of the number of nodes (%d)", nodes)
	case !Text(b.Model, MaxName):
		return WantText("model", b.Model, MaxName)
	}
	return nil
}

func (b *Booking) validMaintenance(nodes int) error {
	switch {
	case nodes == 0:
		return want("nodes", "given for a maintenance")
	case b.GPUs > 0 || b.Model != "" || b.Owner != (ScopeKey{}):
		return want("gpus", "left out for a maintenance, as owner and model")
	}
	return nil
}

// BookingCaps bounds bookings, and numbers them.
type BookingCaps struct {
	Next    BookingID     `cbor:"1,keyasint,omitempty"` // number of the next booking, less one
	Percent uint32        `cbor:"2,keyasint,omitempty"` // of the cluster's GPUs that may be booked at once; 1 to 100
	Ahead   time.Duration `cbor:"3,keyasint,omitempty"` // how far ahead a booking may begin; 1 h to 366 days
	Longest time.Duration `cbor:"4,keyasint,omitempty"` // how long it may last; 1 min to 366 days
	PerUser uint32        `cbor:"5,keyasint,omitempty"` // how many a user, or a project, may have; 1 to 256

	UserPercent uint32 `cbor:"6,keyasint,omitempty"` // of the cluster's GPUs that one user or project may have booked at once, unless an operator books; 1 to 100
}

// OrDefault fills in unset values.
func (c BookingCaps) OrDefault() BookingCaps {
	if c.Percent == 0 {
		c.Percent = 50
	}
	if c.Ahead == 0 {
		c.Ahead = 90 * 24 * time.Hour
	}
	if c.Longest == 0 {
		c.Longest = 14 * 24 * time.Hour
	}
	if c.PerUser == 0 {
		c.PerUser = 10
	}
	if c.UserPercent == 0 {
		c.UserPercent = 25
	}
	return c
}

// Validate checks the ranges.
func (c *BookingCaps) Validate() error {
	switch {
	case c.Percent < 1 || c.Percent > 100:
		return want("percent", "1 to 100")
	case c.Ahead < time.Hour || c.Ahead > MaxDuration:
		return want("ahead", "%s to %s", time.Hour, MaxDuration)
	case c.Longest < time.Minute || c.Longest > MaxDuration:
		return want("longest", "%s to %s", time.Minute, MaxDuration)
	case c.PerUser < 1 || c.PerUser > MaxBookings:
		return want("per_user", "1 to %d", MaxBookings)
	case c.UserPercent > 100:
		return want("percent_per_user", "1 to 100")
	}
	return nil
}

// Allowances in addition to a time limit and the graces of an attempt, until its GPUs are certainly free.
const (
	startWithin = time.Minute      // from placement to start
	cleanWithin = 10 * time.Second // from the end to GPUs that are shown clean
)

// Never is later than all other instants.
const Never = Time(1<<63 - 1)

// Certain returns the longest time that an attempt holds its GPUs from its placement; 0: unknown, for it has
// no time limit.
func (f *Frozen) Certain() time.Duration {
	if f.TimeLimit == 0 {
		return 0
	}
	drift := f.TimeLimit / 1_000_000 * time.Duration(f.DriftPPM)
	return startWithin + f.TimeLimit + drift + f.CheckpointGrace + f.Grace + f.Kill + cleanWithin
}

// Certain returns the longest time that an attempt of the spec would hold its GPUs; 0: unknown.
func (s *Spec) Certain() time.Duration {
	f := s.Freeze()
	return f.Certain()
}

// LimitWithin returns the longest time limit, in whole minutes, with which an attempt of the spec certainly
// frees its GPUs within a span of time; 0: there is none.
func (s *Spec) LimitWithin(span time.Duration) time.Duration {
	with := *s
	for with.TimeLimit = min(span, MaxDuration).Truncate(time.Minute); with.TimeLimit > 0; {
		over := with.Certain() - span
		if over <= 0 {
			return with.TimeLimit
		}
		with.TimeLimit = max(with.TimeLimit-max(over, time.Minute), 0).Truncate(time.Minute)
	}
	return 0
}

// CertainEnd returns when an attempt of the spec that is placed at an instant has certainly freed its GPUs;
// [Never] if unknown.
func (s *Spec) CertainEnd(placed Time) Time {
	if long := s.Certain(); long > 0 {
		return placed.Add(long)
	}
	return Never
}

// Magnitude is a time rounded to a factor of two; 0 is that of none.
type Magnitude uint8

// Magnitude returns the magnitude of the longest time that an attempt of the spec would hold its GPUs; 0: unknown.
func (s *Spec) Magnitude() Magnitude {
	return Magnitude(bits.Len64(uint64(s.Certain() / time.Second)))
}

// Least returns the shortest time of a magnitude; 0: none.
func (m Magnitude) Least() time.Duration {
	if m == 0 {
		return 0
	}
	return time.Second << (m - 1)
}

// CertainEndIf is CertainEnd of an attempt whose last rank starts at an instant.
func (a *Attempt) CertainEndIf(started Time) Time {
	v := *a
	v.Started = started
	return v.CertainEnd()
}

// StartBy returns the latest start with which an attempt has certainly freed its GPUs at an instant; its job
// must have a time limit.
func (a *Attempt) StartBy(end Time) Time { return end.Add(startWithin - a.Frozen.Certain()) }

// CertainEnd returns when an attempt's GPUs are certainly free; [Never] if unknown. For an attempt that is
// being stopped the result is 0.
func (a *Attempt) CertainEnd() Time {
	long := a.Frozen.Certain()
	switch {
	case a.Stop != ReasonNone:
		return 0
	case long == 0:
		return Never
	case a.Started > 0:
		return a.Started.Add(long - startWithin)
	}
	return a.Placed.Add(long)
}
