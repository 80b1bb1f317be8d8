package sched_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
)

const epoch model.Time = 1_700_000_000_000_000_000

// cluster is a state that tests drive by commands.
type cluster struct {
	t   rapid.TB
	s   state.State
	now model.Time
}

func newCluster(t rapid.TB, policy string) *cluster {
	c := &cluster{t: t, now: epoch}
	c.must(&command.Bootstrap{
		Incarnation: model.Incarnation{1}, Level: command.Level, Running: true, Policy: policy,
		Retention: model.Retention{Jobs: 10, Age: time.Hour},
	})
	c.tune(func(t *model.Tuning) { t.NoPreemption, t.Backfill = true, model.BackfillSkip })
	return c
}

// tune changes the cluster's tuning. Tests begin with one under which what fits is
// started and nothing is suspended.
func (c *cluster) tune(change func(*model.Tuning)) {
	c.t.Helper()
	t := c.s.Settings().Tuning
	change(&t)
	c.must(&command.SetTuning{Tuning: t})
}

// copied is a cluster that goes another way from here.
func (c *cluster) copied() *cluster { return &cluster{t: c.t, s: c.s, now: c.now} }

func (c *cluster) apply(bodies ...command.Body) []command.Result {
	c.t.Helper()
	commands := make([]command.Command, len(bodies))
	for i, b := range bodies {
		var err error
		if commands[i], err = command.New("peer:p1", b); err != nil {
			c.t.Fatalf("%s: %v", b.Kind(), err)
		}
	}
	next, results, _ := apply.Apply(c.s, state.Meta{Index: c.s.Index + 1, Term: 1, At: c.now, By: "p1"}, commands)
	c.s = next
	return results
}

func (c *cluster) must(bodies ...command.Body) {
	c.t.Helper()
	for i, r := range c.apply(bodies...) {
		if !r.OK() {
			c.t.Fatalf("%s was refused (%s): %s\n%+v", bodies[i].Kind(), r.Code, r.Detail, bodies[i])
		}
	}
}

// node registers a node with GPUs of a type, as changed.
func (c *cluster) node(id string, gpus int, name string, changes ...func(*model.Device)) {
	c.labeled(id, "", gpus, name, changes...)
}

// labeled registers a node with labels.
func (c *cluster) labeled(id, labels string, gpus int, name string, changes ...func(*model.Device)) {
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
	c.must(r)
}

// private has a node run jobs of one user only.
func (c *cluster) private(id model.NodeID, user string) {
	n, _ := c.s.Nodes.Get(id)
	r := &command.Register{
		Node: id, Machine: n.Machine, Boot: n.Boot, Lineage: n.Lineage, Session: n.Session, Labels: n.Labels,
		Accounts: model.AccountsOwn, Account: user, CPUs: n.CPUs, MemoryMB: n.MemoryMB,
	}
	for k := range c.s.NodeGPUs.From(model.AddressKey{Node: id}) {
		if k.Node != id {
			break
		}
		g, _ := c.s.GPUs.Get(k.GPU)
		r.Devices = append(r.Devices, model.Device{
			ID: g.ID, Index: g.Index, Model: g.Model, MemoryMB: g.MemoryMB, NUMA: g.NUMA, Health: g.Health, Idle: true,
		})
	}
	c.must(r)
}

func spec(user string, gpus, nodes uint32, changes ...func(*model.Spec)) model.Spec {
	s := model.Spec{
		User: user, Class: model.ClassNormal, Command: "true", GPUs: gpus, Nodes: nodes,
		OnLost: model.OnLostHold, DisconnectGrace: time.Minute,
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func class(k model.Class) func(*model.Spec) { return func(s *model.Spec) { s.Class = k } }

func (c *cluster) submit(s model.Spec, tasks, throttle uint32) model.JobID {
	c.t.Helper()
	c.must(&command.Submit{Spec: s, Tasks: tasks, Throttle: throttle})
	return c.s.Settings().NextJob - 1
}

func (c *cluster) limit(user string, gpus, live int64) {
	c.must(&command.SetLimit{Limit: model.Limit{
		Scope: model.ScopeKey{Kind: model.ScopeUser, Name: user},
		GPUs:  gpus, Live: live, Queued: model.Unlimited, GPUsPerJob: model.Unlimited,
	}})
}

// plan plans and carries out; everything must be accepted. It returns the tasks.
func (c *cluster) plan() (placed []model.TaskKey) {
	c.t.Helper()
	bodies, _ := sched.Plan(&c.s, c.now)
	before := c.s
	if len(bodies) > 0 {
		c.must(bodies...)
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

// drawn is a plan as text: "2: n1[0 1] n2[0 1]", a line a placement, with GPUs by
// their place on the node.
func (c *cluster) drawn() (out []string) {
	bodies, _ := sched.Plan(&c.s, c.now)
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
				g, _ := c.s.GPUs.Get(k.GPU)
				at = append(at, fmt.Sprint(g.Index))
			}
			line += fmt.Sprintf(" %s[%s]", r.Node, strings.Join(at, " "))
		}
		out = append(out, line)
	}
	return out
}

// begin has all processes of a task run.
func (c *cluster) begin(key model.TaskKey) {
	c.t.Helper()
	for _, phase := range []model.RankPhase{model.RankReady, model.RankRunning} {
		c.report(key, model.Progress{Phase: phase})
	}
}

// report has every rank of a task's newest attempt say the same.
func (c *cluster) report(key model.TaskKey, p model.Progress) {
	task, _ := c.s.Tasks.Get(key)
	for _, r := range c.s.RanksOf(task.Newest()) {
		node, _ := c.s.Nodes.Get(r.Node)
		p.Rank = r.Key
		b := &command.Report{Node: r.Node, Incarnation: model.Incarnation{1}, Epoch: node.Epoch, Reports: []model.Progress{p}}
		if p.Phase.Ended() {
			for _, slot := range c.s.SlotsOf(r.Key) {
				b.Cleaned = append(b.Cleaned, model.Cleaned{Slot: slot, Rank: r.Key})
			}
		}
		c.must(b)
	}
}

// end has a task's processes exit with a code, and the GPUs shown clean.
func (c *cluster) end(key model.TaskKey, code int32) {
	c.t.Helper()
	c.report(key, model.Progress{Phase: model.RankExited, Exit: model.Exit{Code: code}})
}

// release ends a service's allocation and has its GPUs shown clean.
func (c *cluster) release(id model.AllocationID) {
	c.t.Helper()
	var slots []model.Slot
	for _, slot := range c.s.Slots.All() {
		if slot.Allocation == id {
			slots = append(slots, slot)
		}
	}
	c.must(&command.ReleaseAllocation{ID: id})
	for _, slot := range slots {
		node, _ := c.s.Nodes.Get(slot.Node)
		c.must(&command.Report{
			Node: slot.Node, Incarnation: model.Incarnation{1}, Epoch: node.Epoch,
			Cleaned: []model.Cleaned{{Slot: slot.Key, Allocation: id}},
		})
	}
}

func (c *cluster) allocate(id string, gpus uint32) {
	c.must(&command.Allocate{ID: model.AllocationID(id), User: "svc", Class: model.ClassNormal, GPUs: gpus})
}

// live lists the tasks that have GPUs.
func live(c *cluster) (keys []model.TaskKey) {
	for k := range c.s.Live() {
		keys = append(keys, k)
	}
	return keys
}

// asks is what waits under a key: a task, or a service as a job that asks for the same.
func (c *cluster) asks(key model.TaskKey) (model.Task, model.Job) {
	if id, is := c.s.Waiting.Get(key); is {
		a, _ := c.s.Allocations.Get(id)
		return model.Task{Key: key, State: model.TaskQueued, Class: a.Class, Since: a.Asked}, model.Job{Spec: a.Spec()}
	}
	task, _ := c.s.Tasks.Get(key)
	job, _ := c.s.Jobs.Get(key.Job)
	return task, job
}

// start is the command that gives the task or service of a key its GPUs.
func (c *cluster) start(key model.TaskKey, at []command.Placement) command.Body {
	if id, is := c.s.Waiting.Get(key); is {
		return &command.Grant{ID: id, Placement: at[0]}
	}
	task, _ := c.s.Tasks.Get(key)
	return &command.Place{Attempt: key.Attempt(task.Attempts + 1), Ranks: at}
}

// waiting lists the tasks that wait, held or not, and the services, in order of submission.
func waiting(c *cluster) (keys []model.TaskKey) {
	defer func() { slices.SortFunc(keys, model.TaskKey.Compare) }()
	for turn := range c.s.Waiting.All() {
		keys = append(keys, turn)
	}
	for k, task := range c.s.Tasks.All() {
		if task.State == model.TaskQueued {
			keys = append(keys, k)
		}
	}
	return keys
}

// sorted is what waits in the order of the policy, said simply: by since when it could run.
func sorted(c *cluster) []model.TaskKey {
	keys := waiting(c)
	slices.SortStableFunc(keys, func(a, b model.TaskKey) int {
		x, _ := c.asks(a)
		y, _ := c.asks(b)
		return cmp.Compare(x.Since, y.Since)
	})
	if c.s.Settings().Policy != "fcfs" {
		slices.SortStableFunc(keys, func(a, b model.TaskKey) int {
			x, _ := c.asks(a)
			y, _ := c.asks(b)
			return int(y.Class) - int(x.Class)
		})
	}
	return append(overQuota(c, keys, false), overQuota(c, keys, true)...)
}

func jobs(keys []model.TaskKey) (out []model.JobID) {
	for _, k := range keys {
		out = append(out, k.Job)
	}
	return out
}
