package leader

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A leader names each booking once its start and once its end has come, and sleeps
// until then.
func TestBookingsAreTurned(t *testing.T) {
	c := statetest.New(t)
	c.Node("n1", 4)
	if out, next := turnBookings(&c.State, c.Now); out != nil || next != liveness.Never {
		t.Fatalf("without bookings: %v, %s", out, next)
	}
	book := func(gpus uint32, in, long time.Duration) {
		start := c.Now.Add(in)
		c.Do(&command.Book{Booking: model.Booking{
			Kind: model.BookGPUs, Owner: model.ScopeKey{Kind: model.ScopeUser, Name: "alice"}, GPUs: gpus, Start: start, End: start.Add(long),
		}})
	}
	book(1, time.Hour, time.Hour)
	book(1, 2*time.Hour, 3*time.Hour)
	for _, want := range []struct {
		wait time.Duration // until it is due
		ids  []model.BookingID
		left int
	}{
		{time.Hour, []model.BookingID{1}, 2},    // begins
		{time.Hour, []model.BookingID{1, 2}, 1}, // the first ends, the second begins
		{3 * time.Hour, []model.BookingID{2}, 0},
	} {
		if out, next := turnBookings(&c.State, c.Now); out != nil || next != want.wait {
			t.Fatalf("%s before: %v, %s", want.wait, out, next)
		}
		c.Wait(want.wait)
		out, next := turnBookings(&c.State, c.Now)
		if len(out) != 1 {
			t.Fatalf("due is %+v", out)
		}
		if named, _ := out[0].(*command.TurnBookings); named == nil || next != turnAgain || !slices.Equal(named.IDs, want.ids) {
			t.Fatalf("due is %+v, %s; want %v", out, next, want.ids)
		}
		c.Do(out[0])
		if c.State.Bookings.Len() != want.left {
			t.Fatalf("%d bookings are left, want %d", c.State.Bookings.Len(), want.left)
		}
	}
}
