package sched_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// book books for a user, from some time on for so long, as changed. All of the cluster
// may be booked.
func (c *cluster) book(user string, gpus uint32, in, long time.Duration, changes ...func(*model.Booking)) {
	c.t.Helper()
	b := model.Booking{
		Kind: model.BookGPUs, Owner: model.ScopeKey{Kind: model.ScopeUser, Name: user}, GPUs: gpus, Start: c.now.Add(in), End: c.now.Add(in + long),
	}
	for _, change := range changes {
		change(&b)
	}
	c.must(&command.SetBookingCaps{Caps: model.BookingCaps{Percent: 100, Ahead: 24 * time.Hour, Longest: 24 * time.Hour, PerUser: 50}}, &command.Book{Booking: b})
}

func limit(d time.Duration) func(*model.Spec) { return func(s *model.Spec) { s.TimeLimit = d } }

func yields(s *model.Spec) { s.Preemptible = true }

// everyWay runs a test under an order that fills what is free, and under the search.
func everyWay(t *testing.T, test func(t *testing.T, c *cluster)) {
	for policy, tune := range map[string]func(*model.Tuning){
		"fcfs":       func(*model.Tuning) {},
		"reserve":    func(t *model.Tuning) { t.Backfill = model.BackfillReserve },
		"fair_share": func(t *model.Tuning) { *t = model.DefaultTuning() },
	} {
		t.Run(policy, func(t *testing.T) {
			c := newCluster(t, strings.Replace(policy, "reserve", "fcfs", 1))
			c.tune(tune)
			test(t, c)
		})
	}
}

// TestAWindowIsKeptFree plays a day: GPUs that bob has booked are free when his time
// comes, though others want them all day, and others have them up to then as far as
// they certainly end.
func TestAWindowIsKeptFree(t *testing.T) {
	everyWay(t, func(t *testing.T, c *cluster) {
		c.node("n1", 4, "H200")
		c.node("n2", 4, "H200")
		c.book("bob", 6, 3*time.Hour, 2*time.Hour)
		for _, long := range []time.Duration{0, 0, 0, time.Hour, 150 * time.Minute, 4 * time.Hour} { // jobs 1 to 6
			c.submit(spec("amy", 1, 0, limit(long)), 1, 0)
		}
		check := func(when string, request ...model.JobID) {
			t.Helper()
			got := jobs(c.plan())
			if slices.Sort(got); !slices.Equal(got, request) {
				t.Fatalf("%s: placed %v, want %v", when, got, request)
			}
		}
		later := func(d time.Duration) {
			c.now = c.now.Add(d)
			c.must(&command.AdvanceClock{})
			turnBookings(c)
		}
		check("three hours before", 1, 2, 4, 5)
		later(time.Hour)
		c.end(model.TaskKey{Job: 4}, 0)
		c.submit(spec("amy", 2, 0, limit(90*time.Minute)), 1, 0) // job 7
		check("two hours before", 7)
		later(time.Hour)
		c.end(model.TaskKey{Job: 1}, 0)
		c.submit(spec("bob", 1, 0), 1, 0) // job 8: what is booked for him he may have before
		check("an hour before", 3, 8)
		later(time.Hour)
		c.end(model.TaskKey{Job: 5}, 0)
		c.end(model.TaskKey{Job: 7}, 0)
		c.submit(spec("amy", 1, 0, limit(time.Minute)), 1, 0) // job 9
		c.submit(spec("bob", 3, 0), 1, 0)                     // job 10
		check("his time", 10)
		c.submit(spec("bob", 1, 0), 2, 0) // job 11
		check("his time", 11, 11)
		later(2 * time.Hour)
		c.end(model.TaskKey{Job: 10}, 0)
		check("afterwards", 6, 9)
	})
}

// A gang of the owner finds the nodes that are booked for it, though others are as
// free and cost others' bookings.
func TestAGangFindsItsNodes(t *testing.T) {
	everyWay(t, func(t *testing.T, c *cluster) {
		for _, id := range []string{"n1", "n2", "n3", "n4"} {
			c.node(id, 4, "H200")
		}
		c.book("amy", 8, 0, time.Hour, func(b *model.Booking) { b.Nodes = "n1 n2" })
		c.book("bob", 8, 0, time.Hour, func(b *model.Booking) { b.Nodes = "n3 n4" })
		turnBookings(c)
		c.submit(spec("eve", 1, 0), 1, 0)
		c.submit(spec("bob", 8, 2), 1, 0)
		if got, request := c.drawn(), []string{"2: n3[0 1 2 3] n4[0 1 2 3]"}; !slices.Equal(got, request) {
			t.Errorf("placed %v, want %v", got, request)
		}
	})
}

// Of types of GPU, those that are booked are left alone.
func TestABookedTypeIsLeftAlone(t *testing.T) {
	everyWay(t, func(t *testing.T, c *cluster) {
		c.node("n1", 2, "H200")
		c.node("n2", 4, "A100")
		c.book("bob", 2, time.Hour, time.Hour, func(b *model.Booking) { b.Model = "H200" })
		c.submit(spec("amy", 2, 0), 1, 0)
		if got := c.drawn(); len(got) != 1 || !strings.HasPrefix(got[0], "1: n2[") {
			t.Errorf("placed %v, want it on n2", got)
		}
	})
}

// On a node with GPUs of two types those of the other are not booked with them.
func TestABookedTypeOfAMixedNode(t *testing.T) {
	everyWay(t, func(t *testing.T, c *cluster) {
		c.node("n1", 5, "A100", func(d *model.Device) {
			if d.Index > 2 {
				d.Model = "T4"
			}
		})
		c.book("bob", 3, time.Minute, time.Hour, func(b *model.Booking) { b.Model = "A100" })
		c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.GPUModel = "T4" }), 1, 0)
		if got, request := c.drawn(), []string{"1: n1[3]"}; !slices.Equal(got, request) {
			t.Errorf("placed %v, want %v", got, request)
		}
	})
}

// Whoever waits for GPUs that are booked does not keep the owner from them.
func TestNobodyWaitsInTheOwnersWay(t *testing.T) {
	everyWay(t, func(t *testing.T, c *cluster) {
		c.node("n1", 4, "H200")
		c.book("bob", 4, 0, 4*time.Hour)
		turnBookings(c)
		c.submit(spec("bob", 2, 0), 1, 0)
		c.plan()
		c.submit(spec("amy", 4, 0), 1, 0)
		c.now = c.now.Add(time.Minute)
		c.submit(spec("bob", 2, 0), 1, 0)
		if got := jobs(c.plan()); !slices.Equal(got, []model.JobID{3}) {
			t.Errorf("placed %v, want bob's second job", got)
		}
	})
}

// At the start, jobs of others that may be suspended are, as far as needed and those
// placed last first; before, and where nothing may be suspended, no job is.
func TestOthersAreSuspendedAtTheStart(t *testing.T) {
	everyWay(t, func(t *testing.T, c *cluster) {
		c.tune(func(t *model.Tuning) { t.NoPreemption = false })
		c.node("n1", 4, "H200")
		c.submit(spec("amy", 1, 0), 1, 0)
		c.plan()
		for range 3 { // jobs 2 to 4
			c.now = c.now.Add(time.Minute)
			c.submit(spec("amy", 1, 0, yields), 1, 0)
			c.plan()
		}
		c.book("bob", 3, time.Hour, time.Hour)
		stopped := func() (out []model.JobID) {
			c.plan()
			for _, key := range live(c) {
				task, _ := c.s.Tasks.Get(key)
				if a, _ := c.s.Attempts.Get(task.Newest()); a.Stop == model.ReasonPreempt {
					out = append(out, key.Job)
				}
			}
			return out
		}
		if got := stopped(); len(got) > 0 {
			t.Fatalf("an hour before, %v are suspended", got)
		}
		c.now = c.now.Add(time.Hour)
		c.must(&command.AdvanceClock{})
		turnBookings(c)
		no := c.copied()
		no.tune(func(t *model.Tuning) { t.NoPreemption = true })
		no.plan()
		if bodies, _ := sched.Plan(&no.s, no.now); slices.ContainsFunc(bodies, func(b command.Body) bool { return b.Kind() == command.KindSuspend }) {
			t.Error("jobs are suspended though nothing may be")
		}
		if got := stopped(); !slices.Equal(got, []model.JobID{2, 3, 4}) {
			t.Fatalf("at the start, %v are suspended", got)
		}
		c.submit(spec("bob", 2, 0), 1, 0)
		for _, id := range []model.JobID{2, 3, 4} {
			c.end(model.TaskKey{Job: id}, 0)
		}
		if got := jobs(c.plan()); !slices.Equal(got, []model.JobID{5}) {
			t.Errorf("then %v are placed", got)
		}
	})
}

// A plan is due again at every border of a booking.
func TestPlansWakeAtBorders(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 4, "H200")
	c.book("bob", 1, 10*time.Minute, 5*time.Minute)
	for _, request := range []time.Duration{10 * time.Minute, 15 * time.Minute} {
		_, next := sched.Plan(&c.s, c.now)
		if next != epoch.Add(request) {
			t.Fatalf("the next plan is at +%s, want +%s", next.Sub(epoch), request)
		}
		c.now = next
	}
	if _, next := sched.Plan(&c.s, c.now); next != 0 {
		t.Errorf("afterwards a plan is due at +%s", next.Sub(epoch))
	}
}

// TestAMaintenanceIsEndedBeforeItsNodesAreUsed plays the moment between the end of a maintenance and
// the entry that ends it, on a node that an operator has opened meanwhile: the GPUs there
// count for a reservation only from that entry on, and must not be given away before.
func TestAMaintenanceIsEndedBeforeItsNodesAreUsed(t *testing.T) {
	everyWay(t, func(t *testing.T, c *cluster) {
		c.node("n1", 2, "H200")
		c.node("n2", 2, "H200")
		c.book("bob", 2, 30*time.Minute, 2*time.Hour)
		c.book("", 0, time.Minute, time.Hour, func(b *model.Booking) {
			b.Kind, b.Owner, b.Nodes = model.BookMaintenance, model.ScopeKey{}, "n1"
		})
		c.must(&command.SetNodeMode{Node: "n2", Mode: model.ModeCordoned})
		for _, at := range []time.Duration{2 * time.Minute, 31 * time.Minute} {
			c.now = epoch.Add(at)
			c.must(&command.AdvanceClock{})
			turnBookings(c)
			c.must(&command.SetNodeMode{Node: "n1", Mode: model.ModeOpen})
		}
		c.submit(spec("amy", 1, 0), 1, 0)
		c.now = epoch.Add(time.Minute + time.Hour)
		c.must(&command.AdvanceClock{})
		for _, when := range []string{"over", "over and ended"} {
			if got := c.plan(); len(jobs(got)) > 0 {
				t.Errorf("the maintenance is %s: %v is placed on what is reserved", when, jobs(got))
			}
			turnBookings(c)
		}
	})
}

func TestExplainBookings(t *testing.T) {
	checkExplained(t, []explained{
		{
			"GPUs that are booked", func(c *cluster) {
				c.book("bob", 8, 3*time.Hour, time.Hour)
				c.submit(spec("amy", 4, 0), 1, 0)
			},
			"reservation: it would fit, but GPUs are kept for reservation 1 of user bob (8 GPUs from 2023-11-15T01:13:20Z to 2023-11-15T02:13:20Z), " +
				"and it would not certainly end before",
			"submit it again with --time 2h58m\nreservation 1 is over, 2023-11-15T02:13:20Z\nreservation 1 is canceled\n1 node more, with 4 GPUs free",
		},
		{
			"a window that has begun", func(c *cluster) {
				c.book("bob", 8, 0, time.Hour)
				turnBookings(c)
				c.submit(spec("amy", 4, 0, limit(time.Minute)), 1, 0)
			},
			"reservation: it would fit, but GPUs are kept for reservation 1 of user bob (8 GPUs from 2023-11-14T22:13:20Z to 2023-11-14T23:13:20Z)",
			"reservation 1 is over, 2023-11-14T23:13:20Z\nreservation 1 is canceled\n1 node more, with 4 GPUs free",
		},
		{
			"maintained nodes", func(c *cluster) {
				for i, id := range []string{"n1", "n2"} {
					c.book("", 0, time.Duration(2+i)*time.Hour, time.Hour, func(b *model.Booking) {
						b.Kind, b.Owner, b.Nodes = model.BookMaintenance, model.ScopeKey{}, id
					})
				}
				c.submit(spec("amy", 4, 0), 1, 0)
			},
			"maintenance: it would fit, but nodes have maintenance 1 (from 2023-11-15T00:13:20Z to 2023-11-15T01:13:20Z), " +
				"and only what certainly ends before may start there\n" +
				"maintenance: it would fit, but nodes have maintenance 2 (from 2023-11-15T01:13:20Z to 2023-11-15T02:13:20Z), " +
				"and only what certainly ends before may start there",
			"submit it again with --time 2h58m\nmaintenance 1 is over, 2023-11-15T01:13:20Z\nmaintenance 1 is canceled\n" +
				"maintenance 2 is over, 2023-11-15T02:13:20Z\nmaintenance 2 is canceled\n" +
				"1 node more, with 4 GPUs free",
		},
	})
}

// bookMany books for some users in turn, everything together or three nodes each.
func bookMany(c *cluster, n int, nodes bool) {
	for i := range n {
		if !nodes {
			c.book("bob", uint32(1600/n), time.Hour, time.Duration(1+i)*time.Minute)
			continue
		}
		c.book(fmt.Sprint("u", i%16), 24, time.Hour, time.Duration(1+i)*time.Minute, func(b *model.Booking) {
			b.Nodes = fmt.Sprintf("n%03d n%03d n%03d", 3*i, 3*i+1, 3*i+2)
		})
	}
}

// What a pass costs with bookings, with a queue of tasks that all have to wait for
// them.
func BenchmarkPlanBesideBookings(b *testing.B) {
	for name, book := range map[string]func(*cluster){
		"1":  func(c *cluster) { c.book("bob", 1600, time.Hour, time.Minute) },
		"16": func(c *cluster) { bookMany(c, 16, false) },
		"64 of nodes": func(c *cluster) {
			bookMany(c, 64, true)
			for user := range 16 {
				c.submit(spec(fmt.Sprint("u", user), 4, 0), 12, 0)
			}
			c.plan()
		},
	} {
		b.Run(name, func(b *testing.B) {
			c := newCluster(b, "fcfs")
			for i := range 200 {
				c.node(fmt.Sprintf("n%03d", i), 8, "H200")
			}
			book(c)
			for user := range 20 {
				c.submit(spec(fmt.Sprint("u", user), 2, 0), 500, 0)
			}
			for b.Loop() {
				sched.Plan(&c.s, c.now)
			}
		})
	}
}
