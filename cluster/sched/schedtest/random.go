package schedtest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// BookStep books at random, or does something else that bookings are about.
func BookStep(t *rapid.T, c *Cluster, nodes int) {
	node := fmt.Sprint("n", rapid.IntRange(0, nodes-1).Draw(t, "node"))
	switch rapid.IntRange(0, 6).Draw(t, "book step") {
	case 0:
		if n := c.State.Settings().Booking.Next; n > 0 {
			c.Apply(&command.CancelBooking{ID: model.BookingID(rapid.Uint64Range(1, uint64(n)).Draw(t, "booking"))})
		}
	case 1, 2:
		c.Now = c.Now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
		c.Must(&command.AdvanceClock{})
		TurnBookings(c)
	default:
		b := model.Booking{
			Kind: model.BookGPUs, Owner: model.ScopeKey{Kind: model.ScopeUser, Name: rapid.SampledFrom([]string{"amy", "bob", "svc"}).Draw(t, "whose")},
			GPUs: uint32(rapid.IntRange(1, 5).Draw(t, "booked")), Model: rapid.SampledFrom([]string{"", "A"}).Draw(t, "booked kind"),
			Start: c.Now.Add(time.Duration(rapid.IntRange(0, 180).Draw(t, "in")) * time.Minute),
		}
		b.End = b.Start.Add(time.Duration(rapid.IntRange(1, 180).Draw(t, "for")) * time.Minute)
		if rapid.IntRange(0, 3).Draw(t, "project") == 0 {
			b.Owner = model.ScopeKey{Kind: model.ScopeProject, Name: "p"}
		}
		switch rapid.IntRange(0, 3).Draw(t, "where") {
		case 0:
			b.Nodes, b.Model = node, ""
		case 1:
			b = model.Booking{Kind: model.BookMaintenance, Nodes: node, Start: b.Start, End: b.End}
		}
		c.Apply(&command.Book{Booking: b})
	}
}

// TurnBookings names the bookings whose start or end has come, as a leader does.
func TurnBookings(c *Cluster) {
	turn(c, func(b *model.Booking) bool { return b.End <= c.Now || b.Start <= c.Now && !b.Begun })
}

// endBookings ends those that are over.
func endBookings(c *Cluster) { turn(c, func(b *model.Booking) bool { return b.End <= c.Now }) }

func turn(c *Cluster, is func(*model.Booking) bool) {
	var ids []model.BookingID
	for id, b := range c.State.Bookings.All() {
		if is(&b) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		c.Must(&command.TurnBookings{IDs: ids})
	}
}

// Bookable is a random cluster that may be booked as a whole.
func Bookable(t *rapid.T) (*Cluster, int) {
	c, nodes := RandomTuned(t)
	c.Must(&command.SetBookingCaps{Caps: model.BookingCaps{Percent: 100, Ahead: 24 * time.Hour, Longest: 24 * time.Hour, PerUser: 50}})
	return c, nodes
}

// Mixed does something at random, bookings included.
func Mixed(t *rapid.T, c *Cluster, nodes int) {
	if rapid.IntRange(0, 2).Draw(t, "about bookings") == 0 {
		BookStep(t, c, nodes)
	} else {
		Step(t, c, nodes)
	}
}

// Tried carries out a command, or changes nothing.
func Tried(c *Cluster, b command.Body) bool {
	before := c.State
	if c.Apply(b)[0].OK() {
		return true
	}
	c.State = before
	return false
}

// Restrict sets a quota, a guarantee or a bound of run time at random, or lifts it.
func Restrict(t *rapid.T, c *Cluster, name string, n int64) {
	scope := rapid.SampledFrom([]model.ScopeKey{User(name), {Kind: model.ScopeProject, Name: "p"}}).Draw(t, "scope")
	switch rapid.IntRange(0, 7).Draw(t, "restrict") {
	case 6:
		c.Adjust(model.ScopeKey{Kind: model.ScopeCluster}, int64(model.LimitUserGPUs), n)
	case 7:
		c.Adjust(User(name), int64(model.LimitGPUs), rapid.SampledFrom([]int64{model.Unlimited, 0, n}).Draw(t, "own"))
	case 0:
		c.Adjust(scope, int64(model.LimitGPUTime), n*5, int64(model.LimitPeriod), int64(time.Hour), int64(model.LimitOver), n%2)
	case 1:
		c.Adjust(scope, int64(model.LimitRunTime), n*int64(time.Hour))
	case 2:
		c.Adjust(scope, int64(model.LimitGPUTime), model.Unlimited, int64(model.LimitReserved), model.Unlimited)
	default:
		c.Adjust(scope, int64(model.LimitReserved), n)
	}
}

// overQuota lists those tasks that go last since their user or project has used up a
// quota, or those that do not.
func overQuota(c *Cluster, keys []model.TaskKey, late bool) (out []model.TaskKey) {
	for _, k := range keys {
		_, job := c.Asks(k)
		is := false
		for _, scope := range []model.ScopeKey{User(job.Spec.User), {Kind: model.ScopeProject, Name: job.Spec.Project}} {
			q := c.State.QuotaOf(scope, c.Now)
			is = is || q.Exceeded() && q.Over == model.OverLower
		}
		if is == late {
			out = append(out, k)
		}
	}
	return out
}

// Own has amy own GPUs, and half of the others be kept under hybrid.
func Own(c *Cluster, mode model.PoolMode, gpus int64) {
	c.Must(&command.SetPools{Mode: mode, Part: 500})
	c.Adjust(User("amy"), int64(model.LimitReserved), gpus)
}

// RandomCluster is a cluster with some nodes and a policy.
func RandomCluster(t *rapid.T) (c *Cluster, nodes int) {
	c = New(t, rapid.SampledFrom([]string{"fcfs", "priority"}).Draw(t, "policy"))
	nodes = rapid.IntRange(1, 4).Draw(t, "nodes")
	for i := range nodes {
		memory := uint32(rapid.SampledFrom([]int{1000, 2000}).Draw(t, "memory"))
		c.Node(fmt.Sprint("n", i), rapid.IntRange(1, 5).Draw(t, "gpus"), rapid.SampledFrom([]string{"A", "B"}).Draw(t, "model"),
			func(d *model.Device) { d.MemoryMB, d.NUMA = memory, int32(d.Index/2) })
		if user := rapid.SampledFrom([]string{"", "", "", "amy", "cat"}).Draw(t, "whose"); user != "" {
			c.Private(model.NodeID(fmt.Sprint("n", i)), user)
		}
		if zone := rapid.SampledFrom([]string{"", "zone=a", "zone=b"}).Draw(t, "zone"); zone != "" {
			c.Must(&command.SetNodeLabels{Node: model.NodeID(fmt.Sprint("n", i)), Changes: zone})
		}
	}
	return c, nodes
}

// RandomTuned is a random cluster under any policy and tuning.
func RandomTuned(t *rapid.T) (c *Cluster, nodes int) {
	c, nodes = RandomCluster(t)
	c.Must(&command.SetPolicy{Policy: rapid.SampledFrom(model.Policies()).Draw(t, "any policy")})
	c.Tune(func(tuning *model.Tuning) {
		tuning.NoPreemption = rapid.Bool().Draw(t, "no preemption")
		tuning.Backfill = model.Backfill(rapid.IntRange(1, 3).Draw(t, "backfill"))
		tuning.Placement = rapid.SampledFrom(model.Strategies()).Draw(t, "placement")
		tuning.Depth = uint32(rapid.IntRange(1, 3).Draw(t, "depth"))
		tuning.MinRun = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "min_run")
		tuning.PreemptMinRun, tuning.WaitBound = 0, time.Hour
		tuning.Preempt = model.Preempts(rapid.IntRange(0, 2).Draw(t, "preempt"))
	})
	if waited := max(rapid.IntRange(-4, 4).Draw(t, "hours that some have waited"), 0); waited > 0 {
		longWait(t, c, time.Duration(waited)*time.Hour)
	}
	return c, nodes
}

// longWait has some run, and others have waited for them for so long.
func longWait(t *rapid.T, c *Cluster, waited time.Duration) {
	for range 3 {
		SubmitRandom(t, c, "amy", uint32(rapid.IntRange(1, 4).Draw(t, "n")))
	}
	for _, key := range c.Plan() {
		c.Begin(key)
	}
	for range 2 {
		SubmitRandom(t, c, "bob", uint32(rapid.IntRange(1, 4).Draw(t, "n")))
	}
	c.Now = c.Now.Add(waited)
	c.Must(&command.AdvanceClock{})
}

// Step does something at random.
func Step(t *rapid.T, c *Cluster, nodes int) {
	user := rapid.SampledFrom([]string{"amy", "bob"}).Draw(t, "user")
	n := uint32(rapid.IntRange(1, 4).Draw(t, "n"))
	job := model.JobID(rapid.IntRange(1, 8).Draw(t, "job"))
	switch rapid.IntRange(0, 20).Draw(t, "step") {
	case 0:
		node := model.NodeID(fmt.Sprint("n", rapid.IntRange(0, nodes-1).Draw(t, "node")))
		if label := rapid.SampledFrom([]string{"", "zone=a", "zone=b", "zone-", "spot"}).Draw(t, "label"); label != "" {
			c.Must(&command.SetNodeLabels{Node: node, Changes: label})
		} else {
			c.Must(&command.SetNodeMode{Node: node, Mode: model.NodeMode(n % 2)})
		}
	case 1:
		c.Limit(user, int64(n), int64(n))
	case 2:
		c.Apply(&command.Cancel{Job: job, Task: model.AllTasks})
	case 3:
		c.Apply(&command.SetPriority{Job: job, Class: model.Class(n)})
	case 4:
		c.Apply(&command.Hold{Job: job, Task: model.AllTasks})
	case 5:
		c.Apply(&command.Release{Job: job, Task: model.AllTasks})
	case 6, 7:
		if live := Live(c); len(live) > 0 {
			c.End(rapid.SampledFrom(live).Draw(t, "end"), int32(min(n-1, 1)))
		}
	case 8:
		c.Must(&command.SetRunning{Running: n > 1})
	case 9:
		if waits, victims := Waiting(c), Live(c); len(waits) > 0 && len(victims) > 0 {
			victim, _ := c.State.Tasks.Get(victims[0])
			c.Apply(&command.Preempt{
				Victims:     []model.AttemptKey{victim.Newest()},
				Beneficiary: rapid.SampledFrom(waits).Draw(t, "for"), Until: c.Now.Add(time.Hour),
			})
			if n > 1 {
				c.End(victim.Key, 0)
			}
		}
	case 10:
		c.Apply(&command.Allocate{
			ID: model.AllocationID(fmt.Sprint("a", c.State.Index)), User: user, Class: model.Class(rapid.IntRange(1, 4).Draw(t, "class")), GPUs: n,
			GPUModel: rapid.SampledFrom([]string{"", "A", "A|B"}).Draw(t, "kind"),
			TTL:      rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "ttl"), Job: job * model.JobID(n/4),
		})
	case 11:
		c.Now = c.Now.Add(time.Duration(n) * rapid.SampledFrom([]time.Duration{4 * time.Second, 10 * time.Minute, 2 * time.Hour}).Draw(t, "pause"))
		c.Must(&command.AdvanceClock{})
	case 12:
		Settle(c)
	case 13, 14:
		BeginOne(c)
	case 19:
		Restrict(t, c, user, int64(n))
	case 20:
		c.Must(&command.SetPools{Mode: model.PoolMode(rapid.IntRange(1, 3).Draw(t, "mode")), Part: n * 250})
	default:
		SubmitRandom(t, c, user, n)
	}
}

// BeginOne has the first task that was placed run.
func BeginOne(c *Cluster) {
	for _, key := range Live(c) {
		if task, _ := c.State.Tasks.Get(key); task.State != model.TaskRunning {
			c.Begin(key)
			return
		}
	}
}

// SubmitRandom queues a job of a user at random.
func SubmitRandom(t *rapid.T, c *Cluster, user string, n uint32) {
	s := Spec(user, n, 0, Class(model.Class(rapid.IntRange(1, 4).Draw(t, "class"))))
	s.Project = rapid.SampledFrom([]string{"", "p"}).Draw(t, "project")
	s.GPUModel = rapid.SampledFrom([]string{"", "A", "A|B", "B|C", "a", "C|b"}).Draw(t, "kind")
	s.GPUMemoryMB = uint32(rapid.SampledFrom([]int{0, 2000}).Draw(t, "needs"))
	s.MaxRetries = 2
	s.Placement = rapid.SampledFrom([]string{"", "", "spread", "round_robin", "least_loaded"}).Draw(t, "placement")
	if rapid.IntRange(0, 4).Draw(t, "where") == 4 {
		s.Constraint = rapid.SampledFrom([]string{"", "zone=a", "!zone", "zone!=b", "spot"}).Draw(t, "constraint")
		s.Nodelist = rapid.SampledFrom([]string{"", "", "n0,n1", "n2"}).Draw(t, "nodelist")
		s.Exclude = rapid.SampledFrom([]string{"", "", "n0", "n0,n1"}).Draw(t, "exclude")
	}
	s.Preemptible = rapid.Bool().Draw(t, "preemptible")
	s.TimeLimit = rapid.SampledFrom([]time.Duration{0, 0, 5 * time.Minute, time.Hour, 3 * time.Hour}).Draw(t, "limit")
	s.Estimate = time.Duration(rapid.IntRange(0, 3).Draw(t, "estimate")) * time.Hour
	if rapid.Bool().Draw(t, "gang") {
		s.Nodes = uint32(rapid.SampledFrom([]int{1, 2, 3}).Draw(t, "on"))
		s.GPUs *= s.Nodes
	}
	if s.GPUs > 1 && rapid.IntRange(0, 3).Draw(t, "elastic") == 0 {
		s.MinGPUs = uint32(rapid.IntRange(1, int(s.GPUs)-1).Draw(t, "at least"))
	}
	b := &command.Submit{Spec: s, Tasks: uint32(rapid.IntRange(1, 3).Draw(t, "tasks")), Throttle: uint32(rapid.IntRange(0, 2).Draw(t, "throttle"))}
	if next := c.State.Settings().NextJob; next > 1 && rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
		b.After = []dependency.After{{Job: model.JobID(rapid.Uint64Range(1, uint64(next)-1).Draw(t, "on")), Kind: dependency.Kind(1 + n%3)}}
	}
	if rapid.IntRange(0, 7).Draw(t, "later") == 0 {
		b.Spec.Begin = c.Now.Add(time.Duration(n) * time.Second)
	}
	if rapid.IntRange(0, 5).Draw(t, "in time") == 0 {
		b.Spec.Deadline = c.Now.Add(time.Duration(n) * rapid.SampledFrom([]time.Duration{5 * time.Second, time.Hour}).Draw(t, "deadline"))
	}
	c.Apply(b)
}

// Settle passes the ends of jobs on to those that wait for them, as a leader does.
func Settle(c *Cluster) {
	for k := range c.State.Awaited.All() {
		if c.State.Settling.Has(k.On) {
			c.Must(&command.Settle{Jobs: []model.JobID{k.Job}})
		}
	}
}

// CheckUntil checks a property until what it is about was met: with -short few clusters are drawn
// at a time, and one in four times none of these had it.
func CheckUntil(t *testing.T, met func() bool, property func(t *rapid.T)) {
	t.Helper()
	for range 20 {
		if rapid.Check(t, property); met() || t.Failed() {
			return
		}
	}
}
