package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// What owners hold counts to bookings such that as few as possible are short: first to those that can be
// met in the fewest ways, and of what counts to one of them first what counts to no other.
func TestWhatOwnersHoldIsSharedOut(t *testing.T) {
	vision := model.ScopeKey{Kind: model.ScopeProject, Name: "vision"}
	owned := func(by model.ScopeKey) func(*model.Booking) { return func(b *model.Booking) { b.Owner = by } }
	in := func(user, project string) func(*command.Submit) {
		return func(b *command.Submit) { b.Spec.User, b.Spec.Project = user, project }
	}
	type changes = []func(*model.Booking)
	later := func(b *model.Booking) { b.Start, b.End = b.End, b.End.Add(time.Hour) }
	for name, v := range map[string]struct {
		books []changes
		holds []func(*command.Submit) // 4 GPUs each, on a node each
		short []uint32
	}{
		"nodes before anywhere": {[]changes{{}, {on("n1")}}, []func(*command.Submit){of("bob")}, []uint32{0, 0}},
		"users before projects": {
			[]changes{{owned(vision)}, {}, {later, owned(model.ScopeKey{Kind: model.ScopeUser, Name: "ann"})}},
			[]func(*command.Submit){in("bob", "vision"), in("ann", "vision")},
			[]uint32{0, 0, 0},
		},
		"what counts to one before what counts to two": {
			[]changes{{}, {owned(vision)}}, []func(*command.Submit){in("bob", "vision"), of("bob")}, []uint32{0, 0},
		},
		"and nothing to two": {[]changes{{}, {owned(vision)}}, []func(*command.Submit){in("bob", "vision"), of("eve")}, []uint32{4, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			c := two(t)
			for _, who := range v.holds {
				c.Place(c.Submit(4, who))
			}
			for _, some := range v.books {
				c.Do(booked(c, 4, some...))
			}
			books := state.OpenBooks(&c.State, c.Now)
			for i, want := range v.short {
				if n := books.Short(model.BookingID(i + 1)); n != want {
					t.Errorf("reservation %d is short by %d, want %d", i+1, n, want)
				}
			}
		})
	}
}
