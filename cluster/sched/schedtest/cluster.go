// Package schedtest makes clusters for the tests of the scheduler and of its parts.
//
// A [Cluster] is a state that is changed by commands. Plan has the scheduler look at it once and carries out what that decides;
// Drawn shows the same as text. RandomTuned and Step draw clusters and what happens to them.
//
// Only tests import the package.
package schedtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/search"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
)

// Book books for a user, from some time on for so long, as changed. All of the cluster
// may be booked.
func (c *Cluster) Book(user string, gpus uint32, in, long time.Duration, changes ...func(*model.Booking)) {
	c.T.Helper()
	b := model.Booking{
		Kind: model.BookGPUs, Owner: model.ScopeKey{Kind: model.ScopeUser, Name: user}, GPUs: gpus, Start: c.Now.Add(in),
		End: c.Now.Add(in + long),
	}
	for _, change := range changes {
		change(&b)
	}
	c.Must(&command.SetBookingCaps{Caps: model.BookingCaps{Percent: 100, Ahead: 24 * time.Hour, Longest: 24 * time.Hour, PerUser: 50}},
		&command.Book{Booking: b})
}

// Limit has a job run so long at most.
func Limit(d time.Duration) func(*model.Spec) { return func(s *model.Spec) { s.TimeLimit = d } }

// Epoch is when the clusters begin.
const Epoch model.Time = 1_700_000_000_000_000_000

// Cluster is a state that tests drive by commands.
type Cluster struct {
	T     rapid.TB
	State state.State
	Now   model.Time
}

// New returns a cluster without nodes, under a policy.
func New(t rapid.TB, policy string) *Cluster {
	c := &Cluster{T: t, Now: Epoch}
	c.Must(&command.Bootstrap{
		Incarnation: model.Incarnation{1}, Level: command.Level, Running: true, Policy: policy,
		Retention: model.Retention{Jobs: 10, Age: time.Hour},
	})
	c.Tune(func(t *model.Tuning) { t.NoPreemption, t.Backfill = true, model.BackfillSkip })
	return c
}

// Tune changes the cluster's tuning. Tests begin with one under which what fits is
// started and nothing is suspended.
func (c *Cluster) Tune(change func(*model.Tuning)) {
	c.T.Helper()
	t := c.State.Settings().Tuning
	change(&t)
	c.Must(&command.SetTuning{Tuning: t})
}

// Copied is a cluster that goes another way from here.
func (c *Cluster) Copied() *Cluster { return &Cluster{T: c.T, State: c.State, Now: c.Now} }

// Apply carries out commands in one entry.
func (c *Cluster) Apply(bodies ...command.Body) []command.Result {
	c.T.Helper()
	commands := make([]command.Command, len(bodies))
	for i, b := range bodies {
		var err error
		if commands[i], err = command.New("peer:p1", b); err != nil {
			c.T.Fatalf("%s: %v", b.Kind(), err)
		}
	}
	next, results, _ := apply.Apply(c.State, state.Meta{Index: c.State.Index + 1, Term: 1, At: c.Now, By: "p1"}, commands)
	c.State = next
	return results
}

// Must carries out commands, none of which may be refused.
func (c *Cluster) Must(bodies ...command.Body) {
	c.T.Helper()
	for i, r := range c.Apply(bodies...) {
		if !r.OK() {
			c.T.Fatalf("%s was refused (%s): %s\n%+v", bodies[i].Kind(), r.Code, r.Detail, bodies[i])
		}
	}
}

// Node registers a node with GPUs of a type, as changed.
func (c *Cluster) Node(id string, gpus int, name string, changes ...func(*model.Device)) {
	c.labeled(id, "", gpus, name, changes...)
}

// labeled registers a node with labels.
func (c *Cluster) labeled(id, labels string, gpus int, name string, changes ...func(*model.Device)) {
	r := &command.Register{Node: model.NodeID(id), Machine: "m" + id, Boot: "b", Lineage: "l", Session: "s", Labels: labels, CPUs: 32, MemoryMB: 64_000}
	for i := range gpus {
		d := model.Device{
			ID: model.GPUID(fmt.Sprintf("%s-g%d", id, i)), Index: uint32(i), Model: name, MemoryMB: 1000,
			Health: model.HealthHealthy, Idle: true,
		}
		for _, change := range changes {
			change(&d)
		}
		r.Devices = append(r.Devices, d)
	}
	c.Must(r)
}

// Private has a node run jobs of one user only.
func (c *Cluster) Private(id model.NodeID, user string) {
	n, _ := c.State.Nodes.Get(id)
	r := &command.Register{
		Node: id, Machine: n.Machine, Boot: n.Boot, Lineage: n.Lineage, Session: n.Session, Labels: n.Labels,
		Accounts: model.AccountsOwn, Account: user, CPUs: n.CPUs, MemoryMB: n.MemoryMB,
	}
	for k := range c.State.NodeGPUs.From(model.AddressKey{Node: id}) {
		if k.Node != id {
			break
		}
		g, _ := c.State.GPUs.Get(k.GPU)
		r.Devices = append(r.Devices, model.Device{
			ID: g.ID, Index: g.Index, Model: g.Model, MemoryMB: g.MemoryMB, NUMA: g.NUMA, Health: g.Health, Idle: true,
		})
	}
	c.Must(r)
}

// Spec returns what an ordinary job of a user asks for, as changed.
func Spec(user string, gpus, nodes uint32, changes ...func(*model.Spec)) model.Spec {
	s := model.Spec{
		User: user, Class: model.ClassNormal, Command: "true", GPUs: gpus, Nodes: nodes,
		OnLost: model.OnLostHold, DisconnectGrace: time.Minute,
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// Class gives a job a class.
func Class(k model.Class) func(*model.Spec) { return func(s *model.Spec) { s.Class = k } }

// Submit queues a job, and returns its number.
func (c *Cluster) Submit(s model.Spec, tasks, throttle uint32) model.JobID {
	c.T.Helper()
	c.Must(&command.Submit{Spec: s, Tasks: tasks, Throttle: throttle})
	return c.State.Settings().NextJob - 1
}

// Limit bounds what a user may have.
func (c *Cluster) Limit(user string, gpus, live int64) {
	c.Must(&command.SetLimit{Limit: model.Limit{
		Scope: model.ScopeKey{Kind: model.ScopeUser, Name: user},
		GPUs:  gpus, Live: live, Queued: model.Unlimited, GPUsPerJob: model.Unlimited,
	}})
}

// Decide returns what a pass decides, and when the next one is due.
func (c *Cluster) Decide() ([]command.Body, model.Time) { return sched.Plan(&c.State, c.Now) }

// DecideLoaded is decide where the loads of the nodes are known; it also returns the outlook of the search.
func (c *Cluster) DecideLoaded(loads place.Loads) ([]command.Body, model.Time, *search.Outlook) {
	return sched.PlanLoaded(&c.State, c.Now, loads)
}

// Plan plans and carries out; everything must be accepted. It returns the tasks.
func (c *Cluster) Plan() (placed []model.TaskKey) {
	c.T.Helper()
	bodies, _ := sched.Plan(&c.State, c.Now)
	before := c.State
	if len(bodies) > 0 {
		c.Must(bodies...)
	}
	for _, b := range bodies {
		switch b := b.(type) {
		case *command.Place:
			placed = append(placed, b.Attempt.TaskKey())
		case *command.Grant:
			a, _ := before.Allocations.Get(b.ID)
			placed = append(placed, a.Turn)
		}
	}
	return placed
}

// Drawn is a plan as text: "2: n1[0 1] n2[0 1]", a line a placement, with GPUs by
// their place on the node.
func (c *Cluster) Drawn() (out []string) {
	bodies, _ := sched.Plan(&c.State, c.Now)
	for _, b := range bodies {
		who, ranks := "", []command.Placement(nil)
		switch b := b.(type) {
		case *command.Place:
			who, ranks = b.Attempt.TaskKey().String(), b.Ranks
		case *command.Grant:
			who, ranks = string(b.ID), []command.Placement{b.Placement}
		default:
			continue // what a pass remembers or suspends
		}
		line := who + ":"
		for _, r := range ranks {
			var at []string
			for _, k := range r.Slots {
				g, _ := c.State.GPUs.Get(k.GPU)
				at = append(at, fmt.Sprint(g.Index))
			}
			line += fmt.Sprintf(" %s[%s]", r.Node, strings.Join(at, " "))
		}
		out = append(out, line)
	}
	return out
}

// Begin has all processes of a task run.
func (c *Cluster) Begin(key model.TaskKey) {
	c.T.Helper()
	for _, phase := range []model.RankPhase{model.RankReady, model.RankRunning} {
		c.Report(key, model.Progress{Phase: phase})
	}
}

// Report has every rank of a task's newest attempt say the same.
func (c *Cluster) Report(key model.TaskKey, p model.Progress) {
	task, _ := c.State.Tasks.Get(key)
	for _, r := range c.State.RanksOf(task.Newest()) {
		node, _ := c.State.Nodes.Get(r.Node)
		p.Rank = r.Key
		b := &command.Report{Node: r.Node, Incarnation: model.Incarnation{1}, Epoch: node.Epoch, Reports: []model.Progress{p}}
		if p.Phase.Ended() {
			for _, slot := range c.State.SlotsOf(r.Key) {
				b.Cleaned = append(b.Cleaned, model.Cleaned{Slot: slot, Rank: r.Key})
			}
		}
		c.Must(b)
	}
}

// End has a task's processes exit with a code, and the GPUs shown clean.
func (c *Cluster) End(key model.TaskKey, code int32) {
	c.T.Helper()
	c.Report(key, model.Progress{Phase: model.RankExited, Exit: model.Exit{Code: code}})
}

// release ends a service's allocation and has its GPUs shown clean.
func (c *Cluster) release(id model.AllocationID) {
	c.T.Helper()
	var slots []model.Slot
	for _, slot := range c.State.Slots.All() {
		if slot.Allocation == id {
			slots = append(slots, slot)
		}
	}
	c.Must(&command.ReleaseAllocation{ID: id})
	for _, slot := range slots {
		node, _ := c.State.Nodes.Get(slot.Node)
		c.Must(&command.Report{
			Node: slot.Node, Incarnation: model.Incarnation{1}, Epoch: node.Epoch,
			Cleaned: []model.Cleaned{{Slot: slot.Key, Allocation: id}},
		})
	}
}

// Allocate asks for GPUs for a service.
func (c *Cluster) Allocate(id string, gpus uint32) {
	c.Must(&command.Allocate{ID: model.AllocationID(id), User: "svc", Class: model.ClassNormal, GPUs: gpus})
}

// Live lists the tasks that have GPUs.
func Live(c *Cluster) (keys []model.TaskKey) {
	for k := range c.State.Live() {
		keys = append(keys, k)
	}
	return keys
}

// Asks is what waits under a key: a task, or a service as a job that asks for the same.
func (c *Cluster) Asks(key model.TaskKey) (model.Task, model.Job) {
	if id, is := c.State.Waiting.Get(key); is {
		a, _ := c.State.Allocations.Get(id)
		return model.Task{Key: key, State: model.TaskQueued, Class: a.Class, Since: a.Asked}, model.Job{Spec: a.Spec()}
	}
	task, _ := c.State.Tasks.Get(key)
	job, _ := c.State.Jobs.Get(key.Job)
	return task, job
}

// Start is the command that gives the task or service of a key its GPUs.
func (c *Cluster) Start(key model.TaskKey, at []command.Placement) command.Body {
	if id, is := c.State.Waiting.Get(key); is {
		return &command.Grant{ID: id, Placement: at[0]}
	}
	task, _ := c.State.Tasks.Get(key)
	return &command.Place{Attempt: key.Attempt(task.Attempts + 1), Ranks: at}
}

// Waiting lists the tasks that wait, held or not, and the services, in order of submission.
func Waiting(c *Cluster) (keys []model.TaskKey) {
	defer func() { slices.SortFunc(keys, model.TaskKey.Compare) }()
	for turn := range c.State.Waiting.All() {
		keys = append(keys, turn)
	}
	for k, task := range c.State.Tasks.All() {
		if task.State == model.TaskQueued {
			keys = append(keys, k)
		}
	}
	return keys
}

// Sorted is what waits in the order of the policy, said simply: by since when it could run.
func Sorted(c *Cluster) []model.TaskKey {
	keys := Waiting(c)
	slices.SortStableFunc(keys, func(a, b model.TaskKey) int {
		x, _ := c.Asks(a)
		y, _ := c.Asks(b)
		return cmp.Compare(x.Since, y.Since)
	})
	if c.State.Settings().Policy != "fcfs" {
		slices.SortStableFunc(keys, func(a, b model.TaskKey) int {
			x, _ := c.Asks(a)
			y, _ := c.Asks(b)
			return int(y.Class) - int(x.Class)
		})
	}
	return append(overQuota(c, keys, false), overQuota(c, keys, true)...)
}

// Jobs returns the numbers of the jobs of tasks.
func Jobs(keys []model.TaskKey) (out []model.JobID) {
	for _, k := range keys {
		out = append(out, k.Job)
	}
	return out
}

// Adjust sets values of a limit, in pairs of a field and a value.
func (c *Cluster) Adjust(scope model.ScopeKey, pairs ...int64) {
	c.T.Helper()
	b := &command.AdjustLimit{Scope: scope}
	for i := 0; i < len(pairs); i += 2 {
		b.Set = append(b.Set, model.LimitValue{Of: model.LimitField(pairs[i]), Value: pairs[i+1]})
	}
	c.Must(b)
}
