package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

var bob = model.ScopeKey{Kind: model.ScopeUser, Name: "bob"}

// booked returns a booking of GPUs for bob, an hour from now and for two, as changed.
func booked(c *statetest.Cluster, gpus uint32, changes ...func(*model.Booking)) *command.Book {
	b := &command.Book{Booking: model.Booking{
		Kind: model.BookGPUs, Owner: bob, GPUs: gpus, Start: c.Now.Add(time.Hour), End: c.Now.Add(3 * time.Hour),
	}}
	for _, change := range changes {
		change(&b.Booking)
	}
	return b
}

// maintained returns a maintenance of a node, an hour from now and for two, as changed.
func maintained(c *statetest.Cluster, node string, changes ...func(*model.Booking)) *command.Book {
	b := booked(c, 0, func(b *model.Booking) {
		b.Kind, b.Owner, b.Nodes, b.Note = model.BookMaintenance, model.ScopeKey{}, node, "new driver"
	})
	for _, change := range changes {
		change(&b.Booking)
	}
	return b
}

func on(nodes string) func(*model.Booking) { return func(b *model.Booking) { b.Nodes = nodes } }

func at(start, end model.Time) func(*model.Booking) {
	return func(b *model.Booking) { b.Start, b.End = start, end }
}

func of(user string) func(*command.Submit) { return func(b *command.Submit) { b.Spec.User = user } }

func within(limit time.Duration) func(*command.Submit) {
	return func(b *command.Submit) { b.Spec.TimeLimit = limit }
}

// turn names every booking.
func turn(c *statetest.Cluster) {
	b := &command.TurnBookings{}
	for id := range c.State.Bookings.All() {
		b.IDs = append(b.IDs, id)
	}
	c.Do(b)
}

// two returns a cluster of two nodes of 4 GPUs that may be booked as a whole.
func two(t *testing.T) *statetest.Cluster {
	t.Helper()
	c := statetest.New(t)
	c.Node("n1", 4)
	c.Node("n2", 4)
	c.Do(&command.SetBookingCaps{Caps: model.BookingCaps{Percent: 100, Ahead: 24 * time.Hour, Longest: 12 * time.Hour, PerUser: 3}})
	return c
}

// What can never be met, or is beyond the caps, is refused in words.
func TestBookingsThatAreRefused(t *testing.T) {
	for name, v := range map[string]struct {
		made []func(*model.Booking) // before
		book func(*statetest.Cluster, *model.Booking)
		code model.Code
		says string
	}{
		"in the past": {nil, func(c *statetest.Cluster, b *model.Booking) { b.Start = c.Now.Add(-2 * time.Minute) }, model.CodeConflict, "2m0s ago"},
		"over": {nil, func(c *statetest.Cluster, b *model.Booking) {
			b.Start, b.End = c.Now.Add(-30*time.Second), c.Now
		}, model.CodeConflict, "over already"},
		"too far": {nil, func(c *statetest.Cluster, b *model.Booking) {
			b.Start, b.End = c.Now.Add(25*time.Hour), c.Now.Add(26*time.Hour)
		}, model.CodeLimit, "24h0m0s ahead"},
		"too long":         {nil, func(_ *statetest.Cluster, b *model.Booking) { b.End = b.Start.Add(13 * time.Hour) }, model.CodeLimit, "at most 12h0m0s"},
		"too large":        {nil, func(_ *statetest.Cluster, b *model.Booking) { b.GPUs = 9 }, model.CodeLimit, "at most 8 may be"},
		"too much at once": {[]func(*model.Booking){nil, on("n1")}, func(_ *statetest.Cluster, b *model.Booking) { b.GPUs = 1 }, model.CodeLimit, "9 GPUs would be"},
		"too much of a node": {
			[]func(*model.Booking){on("n1")},
			func(_ *statetest.Cluster, b *model.Booking) { b.GPUs, b.Nodes = 1, "n1" },
			model.CodeUnavailable, "5 GPUs would be reserved on node n1",
		},
		"a node that is no":           {nil, func(_ *statetest.Cluster, b *model.Booking) { b.Nodes = "n7" }, model.CodeNotFound, "no node n7"},
		"a model that is not":         {nil, func(_ *statetest.Cluster, b *model.Booking) { b.Model = "B300" }, model.CodeUnavailable, "the cluster has 0"},
		"a model that a node has not": {nil, func(_ *statetest.Cluster, b *model.Booking) { b.Model, b.Nodes = "B300", "n1" }, model.CodeInvalid, "no GPU of model B300"},
		"nodes that are maintained": {
			[]func(*model.Booking){func(b *model.Booking) { *b = maintained(statetest.New(t), "n1").Booking }},
			func(_ *statetest.Cluster, b *model.Booking) { b.GPUs = 5 }, model.CodeUnavailable, "has 4 then",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := two(t)
			for _, change := range v.made {
				b := booked(c, 4)
				if change != nil {
					change(&b.Booking)
				}
				c.Do(b)
			}
			b := booked(c, 4)
			v.book(c, &b.Booking)
			before := c.State.Bookings
			r := c.Try(b)
			wantCode(t, r, v.code)
			if !strings.Contains(r.Detail, v.says) || c.State.Bookings != before {
				t.Errorf("it is refused by %q, want %q", r.Detail, v.says)
			}
		})
	}
}

func TestBookingsPerUser(t *testing.T) {
	c := two(t)
	for range 3 {
		c.Do(booked(c, 1))
	}
	wantCode(t, c.Try(booked(c, 1)), model.CodeLimit)
	c.Do(booked(c, 1, func(b *model.Booking) { b.Owner = model.ScopeKey{Kind: model.ScopeProject, Name: "bob"} }))
	c.Do(&command.CancelBooking{ID: 2})
	if r := c.Do(booked(c, 1)); r.Number != 5 {
		t.Errorf("the fifth is number %d", r.Number)
	}
	wantCode(t, c.Try(&command.CancelBooking{ID: 2}), model.CodeNotFound)
}

// With nodes and no number all of their GPUs are booked, of their type.
func TestBookingsFillInWhatNodesHave(t *testing.T) {
	c := two(t)
	c.Do(booked(c, 0, on("n1 n2")))
	if b, _ := c.State.Bookings.Get(1); b.GPUs != 8 || b.Model != "H200" || b.By != "user:alice" || b.Made != c.Now {
		t.Errorf("booked is %+v", b)
	}
	c.Do(&command.CancelBooking{ID: 1})
	c.Do(booked(c, 4, func(b *model.Booking) { b.Model = "h200" }))
	if b, _ := c.State.Bookings.Get(2); b.Model != "H200" {
		t.Errorf("booked is %+v", b)
	}
	c.Do(&command.CancelBooking{ID: 2})
	c.Node("n3", 3)
	wantCode(t, c.Try(booked(c, 0, on("n1 n3"))), model.CodeInvalid)
}

// A booking is of one model: a text that finds several is refused, unless the nodes that
// are named have one of them only, and one that is the very name of a model is that.
func TestBookingsOfAModel(t *testing.T) {
	c := two(t)
	for id, name := range map[model.NodeID]string{"n3": "NVIDIA H200 NVL", "n4": "NVIDIA H200 SXM"} {
		n := c.Node(id, 2)
		for i := range n.Self.Devices {
			n.Self.Devices[i].Model = name
		}
		n.Self.Boot = "boot-2"
		n.Register()
	}
	of := func(name, nodes string) *command.Book {
		return booked(c, 2, func(b *model.Booking) { b.Model, b.Nodes = name, nodes })
	}
	r := c.Try(of("nvidia h200", ""))
	wantCode(t, r, model.CodeInvalid)
	if !strings.Contains(r.Detail, `"NVIDIA H200 NVL" "NVIDIA H200 SXM"`) {
		t.Errorf("refused by %q", r.Detail)
	}
	for _, v := range []struct{ name, nodes, is string }{
		{"H200", "", "H200"}, {"h200 sxm", "", "NVIDIA H200 SXM"}, {"h200", "n3", "NVIDIA H200 NVL"},
	} {
		made := c.Do(of(v.name, v.nodes))
		if b, _ := c.State.Bookings.Get(model.BookingID(made.Number)); b.Model != v.is {
			t.Errorf("%q on %q is %q, want %q", v.name, v.nodes, b.Model, v.is)
		}
	}
}

// Before a booking, what does not certainly end leaves it what it needs; what does
// may have everything; its owner may have what is booked.
func TestBookedGPUsAreLeft(t *testing.T) {
	for name, v := range map[string]struct {
		gpus   uint32
		change []func(*command.Submit)
		code   model.Code
	}{
		"what is not booked":           {2, nil, model.CodeOK},
		"more":                         {3, nil, model.CodeUnavailable},
		"more, certainly over before":  {3, []func(*command.Submit){within(55 * time.Minute)}, model.CodeOK},
		"more, over a moment too late": {3, []func(*command.Submit){within(59 * time.Minute)}, model.CodeUnavailable},
		"all, for the owner":           {8, []func(*command.Submit){of("bob")}, model.CodeOK},
	} {
		t.Run(name, func(t *testing.T) {
			c := two(t)
			c.Do(booked(c, 6))
			job := c.Submit(v.gpus, v.change...)
			wantCode(t, c.Try(c.Placement(model.TaskKey{Job: job})), v.code)
		})
	}
}

// The owner's use counts to the booking, and use beyond that like any other user's.
func TestOwnersUseWhatIsBooked(t *testing.T) {
	c := two(t)
	c.Do(booked(c, 6))
	c.Place(c.Submit(4, of("bob")))
	wantCode(t, c.Try(c.Placement(model.TaskKey{Job: c.Submit(3)})), model.CodeUnavailable)
	c.Place(c.Submit(2))
	c.Place(c.Submit(2, of("bob")))
	c.Do(&command.CancelBooking{ID: 1})
	c.Do(booked(c, 2))
	wantOwners(t, c, "n1", model.OwnerAttempt, 4)
	if n := state.OpenBooks(&c.State, c.Now).Short(2); n != 0 {
		t.Errorf("bob holds 6 GPUs and is short by %d", n)
	}
}

// Bookings of named nodes are about those, whatever is free elsewhere.
func TestBookedNodes(t *testing.T) {
	c := two(t)
	c.Do(booked(c, 4, on("n1")))
	onto := func(job model.JobID, node model.NodeID) command.Result {
		n, _ := c.State.Nodes.Get(node)
		return c.Try(&command.Place{Attempt: model.TaskKey{Job: job}.Attempt(1), Decided: c.State.Index, Ranks: []command.Placement{
			{Node: node, Epoch: n.Epoch, Slots: []model.SlotKey{{GPU: model.GPUID(node + "-0")}}},
		}})
	}
	job := c.Submit(1)
	wantCode(t, onto(job, "n1"), model.CodeUnavailable)
	wantCode(t, onto(job, "n2"), model.CodeOK)
	wantCode(t, onto(c.Submit(1, of("bob")), "n1"), model.CodeOK)
}

// A service's allocation never certainly ends, and a longer time limit may be too long.
func TestGrantsAndExtensionsHeedBookings(t *testing.T) {
	c := two(t)
	a := c.Place(c.Submit(4, within(30*time.Minute)))
	c.Start(a)
	c.Do(booked(c, 6))
	wantCode(t, c.Try(&command.Extend{Job: 1, TimeLimit: 50 * time.Minute}), model.CodeOK)
	wantCode(t, c.Try(&command.Extend{Job: 1, TimeLimit: 61 * time.Minute}), model.CodeUnavailable)
	c.Do(&command.Allocate{ID: "web", User: "svc", Class: model.ClassNormal, GPUs: 3})
	n, _ := c.State.Nodes.Get("n2")
	grant := &command.Grant{ID: "web", Decided: c.State.Index, Placement: command.Placement{Node: "n2", Epoch: n.Epoch}}
	for _, gpu := range []model.GPUID{"n2-0", "n2-1", "n2-2"} {
		grant.Placement.Slots = append(grant.Placement.Slots, model.SlotKey{GPU: gpu})
	}
	wantCode(t, c.Try(grant), model.CodeUnavailable)
	c.Do(&command.CancelBooking{ID: 1})
	wantCode(t, c.Try(grant), model.CodeOK)
}

// A booking whose GPUs others have taken first is short; it gets no shorter, and is over at its end, whether
// or not an entry has ended it.
func TestBookingsThatAreShort(t *testing.T) {
	c := two(t)
	a := c.Place(c.Submit(5))
	c.Start(a)
	c.Do(booked(c, 6))
	short := func() uint32 { return state.OpenBooks(&c.State, c.Now).Short(1) }
	if short() != 3 {
		t.Fatalf("short by %d", short())
	}
	job := c.Submit(1)
	wantCode(t, c.Try(c.Placement(model.TaskKey{Job: job})), model.CodeUnavailable)
	c.Do(requeue(a.Job)) // on its way out
	if short() != 0 {
		t.Fatalf("with a job that is being stopped short by %d", short())
	}
	c.Wait(time.Hour)
	turn(c)
	if b, _ := c.State.Bookings.Get(1); !b.Begun {
		t.Error("it has not begun")
	}
	c.Wait(2 * time.Hour)
	wantCode(t, c.Try(c.Placement(model.TaskKey{Job: job})), model.CodeOK)
	turn(c)
	if c.State.Bookings.Len() != 0 {
		t.Error("it is still there")
	}
}

// Once a booking has begun, what others hold is not certainly free, even if it should
// have been.
func TestBookingsThatHaveBegun(t *testing.T) {
	c := two(t)
	c.Place(c.Submit(4, within(30*time.Minute)))
	c.Do(booked(c, 8))
	if n := state.OpenBooks(&c.State, c.Now).Short(1); n != 0 {
		t.Errorf("before, it is short by %d", n)
	}
	c.Wait(time.Hour)
	turn(c)
	if n := state.OpenBooks(&c.State, c.Now).Short(1); n != 4 {
		t.Errorf("then it is short by %d", n)
	}
}

// A maintenance takes only what certainly ends before, drains its nodes and opens
// them again.
func TestMaintenance(t *testing.T) {
	c := two(t)
	c.Node("n3", 4)
	c.Do(maintained(c, "n1"))
	wantCode(t, c.Try(c.Placement(model.TaskKey{Job: c.Submit(4)})), model.CodeUnavailable)
	a := c.Place(c.Submit(4, within(30*time.Minute)))
	c.Start(a)
	wantCode(t, c.Try(&command.Extend{Job: a.Job, TimeLimit: 2 * time.Hour}), model.CodeUnavailable)
	wantCode(t, c.Try(maintained(c, "n1 n2")), model.CodeConflict)
	c.Wait(time.Hour)
	turn(c)
	n, _ := c.State.Nodes.Get("n1")
	if n.Mode != model.ModeDraining || n.ModeReason != "maintenance 1: new driver" || attempt(c, a).Stop != model.ReasonDrain {
		t.Fatalf("at the start the node is %+v, the attempt %+v", n, attempt(c, a))
	}
	c.Wait(2 * time.Hour)
	turn(c)
	if n, _ = c.State.Nodes.Get("n1"); n.Mode != model.ModeOpen || n.ModeReason != "" || c.State.Bookings.Len() != 0 {
		t.Errorf("at the end the node is %+v", n)
	}
}

// An operator's changes of a node before or during a maintenance stay.
func TestMaintenanceLeavesOperatorsAlone(t *testing.T) {
	for name, v := range map[string]struct {
		before, meanwhile model.NodeMode
		end               func(*statetest.Cluster)
		want              model.NodeMode
	}{
		"closed before":        {model.ModeCordoned, model.ModeCordoned, turn, model.ModeCordoned},
		"closed meanwhile":     {model.ModeOpen, model.ModeDraining, turn, model.ModeDraining},
		"opened meanwhile":     {model.ModeOpen, model.ModeOpen, turn, model.ModeOpen},
		"canceled, and closed": {model.ModeOpen, model.ModeCordoned, func(c *statetest.Cluster) { c.Do(&command.CancelBooking{ID: 1}) }, model.ModeCordoned},
	} {
		t.Run(name, func(t *testing.T) {
			c := two(t)
			c.Do(maintained(c, "n1"))
			if v.before != model.ModeOpen {
				c.Do(&command.SetNodeMode{Node: "n1", Mode: v.before, Note: "mine"})
			}
			c.Wait(time.Hour)
			turn(c)
			if v.before == model.ModeOpen {
				c.Do(&command.SetNodeMode{Node: "n1", Mode: v.meanwhile, Note: "mine"})
			}
			c.Wait(2 * time.Hour)
			v.end(c)
			if n, _ := c.State.Nodes.Get("n1"); n.Mode != v.want {
				t.Errorf("in the end the node is %s (%s), want %s", n.Mode, n.ModeReason, v.want)
			}
		})
	}
}

// GPUs that are booked then, and could not be elsewhere, are not maintained.
func TestMaintenanceHeedsBookings(t *testing.T) {
	c := two(t)
	c.Do(booked(c, 5))
	wantCode(t, c.Try(maintained(c, "n1")), model.CodeConflict)
	c.Do(maintained(c, "n1", at(c.Now.Add(3*time.Hour), c.Now.Add(4*time.Hour))))
}

// Check names a booking that is none, and a ledger that does not follow from the rows.
func TestCheckNamesBrokenBookings(t *testing.T) {
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*state.State)
	}{
		"a number that is to come": {check.References, func(s *state.State) {
			statetest.Put(&s.Globals, state.Only{}, func(r *model.Settings) { r.Booking.Next = 0 })
		}},
		"one without an owner": {check.References, func(s *state.State) { statetest.Put(&s.Bookings, 1, func(r *model.Booking) { r.Owner.Name = "" }) }},
		"a ledger":             {check.SameOnReplay, func(s *state.State) { statetest.Put(&s.Bookings, 1, func(r *model.Booking) { r.Start++ }) }},
	} {
		t.Run(name, func(t *testing.T) {
			c := two(t)
			c.Do(booked(c, 4))
			s := c.State
			v.change(&s)
			if err := check.State(&s); !statetest.Names(err, v.want) {
				t.Errorf("Check says %v, want %q", err, v.want)
			}
		})
	}
}
