package sched_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// everyWay runs a test under an order that fills what is free, and under the search.
func everyWay(t *testing.T, test func(t *testing.T, c *schedtest.Cluster)) {
	for policy, tune := range map[string]func(*model.Tuning){
		"fcfs":       func(*model.Tuning) {},
		"reserve":    func(t *model.Tuning) { t.Backfill = model.BackfillReserve },
		"fair_share": func(t *model.Tuning) { *t = model.DefaultTuning() },
	} {
		t.Run(policy, func(t *testing.T) {
			c := schedtest.New(t, strings.Replace(policy, "reserve", "fcfs", 1))
			c.Tune(tune)
			test(t, c)
		})
	}
}

// TestAWindowIsKeptFree plays a day: GPUs that bob has booked are free when his time
// comes, though others want them all day, and others have them up to then as far as
// they certainly end.
func TestAWindowIsKeptFree(t *testing.T) {
	everyWay(t, func(t *testing.T, c *schedtest.Cluster) {
		c.Node("n1", 4, "H200")
		c.Node("n2", 4, "H200")
		c.Book("bob", 6, 3*time.Hour, 2*time.Hour)
		for _, long := range []time.Duration{0, 0, 0, time.Hour, 150 * time.Minute, 4 * time.Hour} { // jobs 1 to 6
			c.Submit(schedtest.Spec("amy", 1, 0, schedtest.Limit(long)), 1, 0)
		}
		check := func(when string, request ...model.JobID) {
			t.Helper()
			got := schedtest.Jobs(c.Plan())
			if slices.Sort(got); !slices.Equal(got, request) {
				t.Fatalf("%s: placed %v, want %v", when, got, request)
			}
		}
		later := func(d time.Duration) {
			c.Now = c.Now.Add(d)
			c.Must(&command.AdvanceClock{})
			schedtest.TurnBookings(c)
		}
		check("three hours before", 1, 2, 4, 5)
		later(time.Hour)
		c.End(model.TaskKey{Job: 4}, 0)
		c.Submit(schedtest.Spec("amy", 2, 0, schedtest.Limit(90*time.Minute)), 1, 0) // job 7
		check("two hours before", 7)
		later(time.Hour)
		c.End(model.TaskKey{Job: 1}, 0)
		c.Submit(schedtest.Spec("bob", 1, 0), 1, 0) // job 8: what is booked for him he may have before
		check("an hour before", 3, 8)
		later(time.Hour)
		c.End(model.TaskKey{Job: 5}, 0)
		c.End(model.TaskKey{Job: 7}, 0)
		c.Submit(schedtest.Spec("amy", 1, 0, schedtest.Limit(time.Minute)), 1, 0) // job 9
		c.Submit(schedtest.Spec("bob", 3, 0), 1, 0)                               // job 10
		check("his time", 10)
		c.Submit(schedtest.Spec("bob", 1, 0), 2, 0) // job 11
		check("his time", 11, 11)
		later(2 * time.Hour)
		c.End(model.TaskKey{Job: 10}, 0)
		check("afterwards", 6, 9)
	})
}

// A gang of the owner finds the nodes that are booked for it, though others are as
// free and cost others' bookings.
func TestAGangFindsItsNodes(t *testing.T) {
	everyWay(t, func(t *testing.T, c *schedtest.Cluster) {
		for _, id := range []string{"n1", "n2", "n3", "n4"} {
			c.Node(id, 4, "H200")
		}
		c.Book("amy", 8, 0, time.Hour, func(b *model.Booking) { b.Nodes = "n1 n2" })
		c.Book("bob", 8, 0, time.Hour, func(b *model.Booking) { b.Nodes = "n3 n4" })
		schedtest.TurnBookings(c)
		c.Submit(schedtest.Spec("eve", 1, 0), 1, 0)
		c.Submit(schedtest.Spec("bob", 8, 2), 1, 0)
		if got, request := c.Drawn(), []string{"2: n3[0 1 2 3] n4[0 1 2 3]"}; !slices.Equal(got, request) {
			t.Errorf("placed %v, want %v", got, request)
		}
	})
}

// Of types of GPU, those that are booked are left alone.
func TestABookedTypeIsLeftAlone(t *testing.T) {
	everyWay(t, func(t *testing.T, c *schedtest.Cluster) {
		c.Node("n1", 2, "H200")
		c.Node("n2", 4, "A100")
		c.Book("bob", 2, time.Hour, time.Hour, func(b *model.Booking) { b.Model = "H200" })
		c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
		if got := c.Drawn(); len(got) != 1 || !strings.HasPrefix(got[0], "1: n2[") {
			t.Errorf("placed %v, want it on n2", got)
		}
	})
}

// On a node with GPUs of two types those of the other are not booked with them.
func TestABookedTypeOfAMixedNode(t *testing.T) {
	everyWay(t, func(t *testing.T, c *schedtest.Cluster) {
		c.Node("n1", 5, "A100", func(d *model.Device) {
			if d.Index > 2 {
				d.Model = "T4"
			}
		})
		c.Book("bob", 3, time.Minute, time.Hour, func(b *model.Booking) { b.Model = "A100" })
		c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.GPUModel = "T4" }), 1, 0)
		if got, request := c.Drawn(), []string{"1: n1[3]"}; !slices.Equal(got, request) {
			t.Errorf("placed %v, want %v", got, request)
		}
	})
}

// Whoever waits for GPUs that are booked does not keep the owner from them.
func TestNobodyWaitsInTheOwnersWay(t *testing.T) {
	everyWay(t, func(t *testing.T, c *schedtest.Cluster) {
		c.Node("n1", 4, "H200")
		c.Book("bob", 4, 0, 4*time.Hour)
		schedtest.TurnBookings(c)
		c.Submit(schedtest.Spec("bob", 2, 0), 1, 0)
		c.Plan()
		c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
		c.Now = c.Now.Add(time.Minute)
		c.Submit(schedtest.Spec("bob", 2, 0), 1, 0)
		if got := schedtest.Jobs(c.Plan()); !slices.Equal(got, []model.JobID{3}) {
			t.Errorf("placed %v, want bob's second job", got)
		}
	})
}

// At the start, jobs of others that may be suspended are, as far as needed and those
// placed last first; before, and where nothing may be suspended, no job is.
func TestOthersAreSuspendedAtTheStart(t *testing.T) {
	everyWay(t, func(t *testing.T, c *schedtest.Cluster) {
		c.Tune(func(t *model.Tuning) { t.NoPreemption = false })
		c.Node("n1", 4, "H200")
		c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
		c.Plan()
		for range 3 { // jobs 2 to 4
			c.Now = c.Now.Add(time.Minute)
			c.Submit(schedtest.Spec("amy", 1, 0, schedtest.Yields), 1, 0)
			c.Plan()
		}
		c.Book("bob", 3, time.Hour, time.Hour)
		stopped := func() (out []model.JobID) {
			c.Plan()
			for _, key := range schedtest.Live(c) {
				task, _ := c.State.Tasks.Get(key)
				if a, _ := c.State.Attempts.Get(task.Newest()); a.Stop == model.ReasonPreempt {
					out = append(out, key.Job)
				}
			}
			return out
		}
		if got := stopped(); len(got) > 0 {
			t.Fatalf("an hour before, %v are suspended", got)
		}
		c.Now = c.Now.Add(time.Hour)
		c.Must(&command.AdvanceClock{})
		schedtest.TurnBookings(c)
		no := c.Copied()
		no.Tune(func(t *model.Tuning) { t.NoPreemption = true })
		no.Plan()
		if bodies, _ := sched.Plan(&no.State, no.Now); slices.ContainsFunc(bodies,
			func(b command.Body) bool { return b.Kind() == command.KindSuspend }) {
			t.Error("jobs are suspended though nothing may be")
		}
		if got := stopped(); !slices.Equal(got, []model.JobID{2, 3, 4}) {
			t.Fatalf("at the start, %v are suspended", got)
		}
		c.Submit(schedtest.Spec("bob", 2, 0), 1, 0)
		for _, id := range []model.JobID{2, 3, 4} {
			c.End(model.TaskKey{Job: id}, 0)
		}
		if got := schedtest.Jobs(c.Plan()); !slices.Equal(got, []model.JobID{5}) {
			t.Errorf("then %v are placed", got)
		}
	})
}

// A plan is due again at every border of a booking.
func TestPlansWakeAtBorders(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 4, "H200")
	c.Book("bob", 1, 10*time.Minute, 5*time.Minute)
	for _, request := range []time.Duration{10 * time.Minute, 15 * time.Minute} {
		_, next := sched.Plan(&c.State, c.Now)
		if next != schedtest.Epoch.Add(request) {
			t.Fatalf("the next plan is at +%s, want +%s", next.Sub(schedtest.Epoch), request)
		}
		c.Now = next
	}
	if _, next := sched.Plan(&c.State, c.Now); next != 0 {
		t.Errorf("afterwards a plan is due at +%s", next.Sub(schedtest.Epoch))
	}
}

// TestAMaintenanceIsEndedBeforeItsNodesAreUsed plays the moment between the end of a maintenance and
// the entry that ends it, on a node that an operator has opened meanwhile: the GPUs there
// count for a reservation only from that entry on, and must not be given away before.
func TestAMaintenanceIsEndedBeforeItsNodesAreUsed(t *testing.T) {
	everyWay(t, func(t *testing.T, c *schedtest.Cluster) {
		c.Node("n1", 2, "H200")
		c.Node("n2", 2, "H200")
		c.Book("bob", 2, 30*time.Minute, 2*time.Hour)
		c.Book("", 0, time.Minute, time.Hour, func(b *model.Booking) {
			b.Kind, b.Owner, b.Nodes = model.BookMaintenance, model.ScopeKey{}, "n1"
		})
		c.Must(&command.SetNodeMode{Node: "n2", Mode: model.ModeCordoned})
		for _, at := range []time.Duration{2 * time.Minute, 31 * time.Minute} {
			c.Now = schedtest.Epoch.Add(at)
			c.Must(&command.AdvanceClock{})
			schedtest.TurnBookings(c)
			c.Must(&command.SetNodeMode{Node: "n1", Mode: model.ModeOpen})
		}
		c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
		c.Now = schedtest.Epoch.Add(time.Minute + time.Hour)
		c.Must(&command.AdvanceClock{})
		for _, when := range []string{"over", "over and ended"} {
			if got := c.Plan(); len(schedtest.Jobs(got)) > 0 {
				t.Errorf("the maintenance is %s: %v is placed on what is reserved", when, schedtest.Jobs(got))
			}
			schedtest.TurnBookings(c)
		}
	})
}

func TestExplainBookings(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "GPUs that are booked", Make: func(c *schedtest.Cluster) {
				c.Book("bob", 8, 3*time.Hour, time.Hour)
				c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
			},
			Blockers: "reservation: it would fit, but GPUs are kept for reservation 1 of user bob (8 GPUs from 2023-11-15T01:13:20Z to 2023-11-15T02:13:20Z), " +
				"and it would not certainly end before",
			Unblock: "submit it again with --time 2h58m\nreservation 1 is over, 2023-11-15T02:13:20Z\nreservation 1 is canceled\n1 node more, with 4 GPUs free",
		},
		{
			Name: "a window that has begun", Make: func(c *schedtest.Cluster) {
				c.Book("bob", 8, 0, time.Hour)
				schedtest.TurnBookings(c)
				c.Submit(schedtest.Spec("amy", 4, 0, schedtest.Limit(time.Minute)), 1, 0)
			},
			Blockers: "reservation: it would fit, but GPUs are kept for reservation 1 of user bob (8 GPUs from 2023-11-14T22:13:20Z to 2023-11-14T23:13:20Z)",
			Unblock:  "reservation 1 is over, 2023-11-14T23:13:20Z\nreservation 1 is canceled\n1 node more, with 4 GPUs free",
		},
		{
			Name: "maintained nodes", Make: func(c *schedtest.Cluster) {
				for i, id := range []string{"n1", "n2"} {
					c.Book("", 0, time.Duration(2+i)*time.Hour, time.Hour, func(b *model.Booking) {
						b.Kind, b.Owner, b.Nodes = model.BookMaintenance, model.ScopeKey{}, id
					})
				}
				c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
			},
			Blockers: "maintenance: it would fit, but nodes have maintenance 1 (from 2023-11-15T00:13:20Z to 2023-11-15T01:13:20Z), " +
				"and only what certainly ends before may start there\n" +
				"maintenance: it would fit, but nodes have maintenance 2 (from 2023-11-15T01:13:20Z to 2023-11-15T02:13:20Z), " +
				"and only what certainly ends before may start there",
			Unblock: "submit it again with --time 2h58m\nmaintenance 1 is over, 2023-11-15T01:13:20Z\nmaintenance 1 is canceled\n" +
				"maintenance 2 is over, 2023-11-15T02:13:20Z\nmaintenance 2 is canceled\n" +
				"1 node more, with 4 GPUs free",
		},
	})
}

// bookMany books for some users in turn, everything together or three nodes each.
func bookMany(c *schedtest.Cluster, n int, nodes bool) {
	for i := range n {
		if !nodes {
			c.Book("bob", uint32(1600/n), time.Hour, time.Duration(1+i)*time.Minute)
			continue
		}
		c.Book(fmt.Sprint("u", i%16), 24, time.Hour, time.Duration(1+i)*time.Minute, func(b *model.Booking) {
			b.Nodes = fmt.Sprintf("n%03d n%03d n%03d", 3*i, 3*i+1, 3*i+2)
		})
	}
}

// What a pass costs with bookings, with a queue of tasks that all have to wait for
// them.
func BenchmarkPlanBesideBookings(b *testing.B) {
	for name, book := range map[string]func(*schedtest.Cluster){
		"1":  func(c *schedtest.Cluster) { c.Book("bob", 1600, time.Hour, time.Minute) },
		"16": func(c *schedtest.Cluster) { bookMany(c, 16, false) },
		"64 of nodes": func(c *schedtest.Cluster) {
			bookMany(c, 64, true)
			for user := range 16 {
				c.Submit(schedtest.Spec(fmt.Sprint("u", user), 4, 0), 12, 0)
			}
			c.Plan()
		},
	} {
		b.Run(name, func(b *testing.B) {
			c := schedtest.New(b, "fcfs")
			for i := range 200 {
				c.Node(fmt.Sprintf("n%03d", i), 8, "H200")
			}
			book(c)
			for user := range 20 {
				c.Submit(schedtest.Spec(fmt.Sprint("u", user), 2, 0), 500, 0)
			}
			for b.Loop() {
				sched.Plan(&c.State, c.Now)
			}
		})
	}
}
