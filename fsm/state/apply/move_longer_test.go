package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// An attempt that is in the way of a booking already is not extended, unless the booking is over before, has
// what it needs, or is its own.
func TestExtensionsLengthenNoShortage(t *testing.T) {
	for name, v := range map[string]struct {
		book func(*statetest.Cluster) *command.Book
		user string
		code model.Code
	}{
		"in its way": {func(c *statetest.Cluster) *command.Book { return booked(c, 4, on("n1")) }, "alice", model.CodeUnavailable},
		"begun": {func(c *statetest.Cluster) *command.Book {
			return booked(c, 4, on("n1"), at(c.Now.Add(time.Second), c.Now.Add(9*time.Hour)))
		}, "alice", model.CodeUnavailable},
		"over before": {func(c *statetest.Cluster) *command.Book {
			return booked(c, 4, on("n1"), at(c.Now.Add(time.Hour), c.Now.Add(90*time.Minute)))
		}, "alice", model.CodeOK},
		"their own":     {func(c *statetest.Cluster) *command.Book { return booked(c, 4, on("n1")) }, "bob", model.CodeOK},
		"nothing lacks": {func(c *statetest.Cluster) *command.Book { return booked(c, 4) }, "alice", model.CodeOK},
		"one lacks":     {func(c *statetest.Cluster) *command.Book { return booked(c, 5) }, "alice", model.CodeUnavailable},
		"elsewhere":     {func(c *statetest.Cluster) *command.Book { return booked(c, 4, on("n2")) }, "alice", model.CodeOK},
	} {
		t.Run(name, func(t *testing.T) {
			c := two(t)
			a := c.Place(c.Submit(4, within(2*time.Hour), of(v.user)))
			c.Start(a)
			c.Do(v.book(c))
			c.Now = c.Now.Add(2 * time.Second)
			turn(c)
			r := c.Try(&command.Extend{Job: a.Job, By: 10 * time.Hour})
			wantCode(t, r, v.code)
			if v.code != model.CodeOK && !strings.Contains(r.Detail, "job 1 is in the way of ") {
				t.Errorf("it is refused by %q", r.Detail)
			}
		})
	}
}

// A longest run time that was set after a job was submitted bounds the job with regard to bookings.
func TestBoundedBesideBookings(t *testing.T) {
	c := two(t)
	job := c.Submit(4)
	c.Do(booked(c, 8))
	place := c.Placement(model.TaskKey{Job: job})
	wantCode(t, c.Try(place), model.CodeUnavailable)
	c.Do(&command.SetLimit{Limit: func() model.Limit {
		l := model.NoLimit(model.ScopeKey{Kind: model.ScopeCluster})
		l.RunTime = 10 * time.Minute
		return l
	}()})
	wantCode(t, c.Try(place), model.CodeOK)
}
