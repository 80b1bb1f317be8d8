package sched_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

const epoch model.Time = 1_700_000_000_000_000_000

// cluster is a state that tests drive by commands.
type cluster struct {
	t   rapid.TB
	s   state.State
	now model.Time
}

func newCluster(t rapid.TB) *cluster {
	c := &cluster{t: t, now: epoch}
	c.must(&command.Bootstrap{
		Incarnation: model.Incarnation{1}, Level: 1, Running: true, Policy: "fcfs",
		Retention: model.Retention{Jobs: 10, Age: time.Hour},
	})
	return c
}

func (c *cluster) apply(bodies ...command.Body) []command.Result {
	c.t.Helper()
	commands := make([]command.Command, len(bodies))
	for i, b := range bodies {
		var err error
		if commands[i], err = command.New("peer:p1", b); err != nil {
			c.t.Fatalf("%s: %v", b.Kind(), err)
		}
	}
	next, results, _ := state.Apply(c.s, state.Meta{Index: c.s.Index + 1, Term: 1, At: c.now, By: "p1"}, commands)
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

func (c *cluster) node(id string, gpus int, name string) {
	r := &command.Register{Node: model.NodeID(id), Machine: "m" + id, Boot: "b", Lineage: "l", Session: "s"}
	for i := range gpus {
		r.Devices = append(r.Devices, model.Device{ID: model.GPUID(fmt.Sprintf("%s-g%d", id, i)), Index: uint32(i), //nolint:gosec // few
			Model: name, MemoryMB: 1000, Health: model.HealthHealthy, Idle: true})
	}
	c.must(r)
}

func spec(user string, gpus, nodes uint32) model.Spec {
	return model.Spec{
		User: user, Class: model.ClassNormal, Command: "true", GPUs: gpus, Nodes: nodes,
		OnLost: model.OnLostHold, DisconnectGrace: time.Minute,
	}
}

func (c *cluster) submit(s model.Spec, tasks, throttle uint32) {
	c.must(&command.Submit{Spec: s, Tasks: tasks, Throttle: throttle})
}

// plan plans and carries out; everything must be accepted. It returns the tasks.
func (c *cluster) plan() (placed []model.TaskKey) {
	c.t.Helper()
	bodies, _ := sched.Plan(&c.s, c.now)
	if len(bodies) > 0 {
		c.must(bodies...)
	}
	for _, b := range bodies {
		if p, ok := b.(*command.Place); ok {
			placed = append(placed, p.Attempt.TaskKey())
		}
	}
	return placed
}

func jobs(keys []model.TaskKey) (out []model.JobID) {
	for _, k := range keys {
		out = append(out, k.Job)
	}
	return out
}

func TestPlan(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(*cluster)
		want []model.JobID
	}{
		{"in order of submission, past what does not fit", func(c *cluster) {
			c.submit(spec("zoe", 1, 0), 1, 0)
			c.submit(spec("bob", 4, 0), 1, 0)
			c.submit(spec("amy", 2, 0), 1, 0)
			c.submit(spec("amy", 1, 0), 1, 0)
			c.submit(spec("zoe", 1, 0), 1, 0)
		}, []model.JobID{1, 3, 4}},
		{"one job wider than any node is spread", func(c *cluster) { c.submit(spec("amy", 4, 0), 1, 0) }, nil},
		{"a throttle", func(c *cluster) { c.submit(spec("amy", 1, 0), 5, 2) }, []model.JobID{1, 1}},
		{"a limit of GPUs", func(c *cluster) {
			c.must(&command.SetLimit{Limit: model.Limit{
				Scope: model.ScopeKey{Kind: model.ScopeUser, Name: "amy"},
				GPUs:  2, Live: model.Unlimited, Queued: model.Unlimited, GPUsPerJob: model.Unlimited,
			}})
			c.submit(spec("amy", 1, 0), 3, 0)
			c.submit(spec("bob", 1, 0), 1, 0)
		}, []model.JobID{1, 1, 2}},
		{"a held task", func(c *cluster) {
			s := spec("amy", 1, 0)
			s.Held = true
			c.submit(s, 1, 0)
			c.submit(spec("amy", 1, 0), 1, 0)
		}, []model.JobID{2}},
		{"a stopped orchestrator", func(c *cluster) { c.submit(spec("amy", 1, 0), 1, 0); c.must(&command.SetRunning{}) }, nil},
		{"a cordoned node", func(c *cluster) {
			c.must(&command.SetNodeMode{Node: "n1", Mode: model.ModeCordoned})
			c.submit(spec("amy", 1, 0), 1, 0)
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			c.node("n1", 4, "H200")
			if test.name == "one job wider than any node is spread" {
				c = newCluster(t)
				c.node("n1", 3, "H200")
				c.node("n2", 3, "H200")
				test.want = []model.JobID{1}
			}
			test.make(c)
			if got := jobs(c.plan()); !slices.Equal(got, test.want) {
				t.Errorf("placed %v, want %v", got, test.want)
			}
			if again := c.plan(); len(again) > 0 {
				t.Errorf("left out at first: %v", again)
			}
		})
	}
}

func TestAJobThatOneNodeCanHoldWaitsForIt(t *testing.T) {
	c := newCluster(t)
	c.node("n1", 4, "H200")
	c.node("n2", 4, "H200")
	c.submit(spec("amy", 3, 0), 2, 0)
	c.plan()
	c.submit(spec("amy", 2, 0), 1, 0)
	if got := c.plan(); len(got) > 0 {
		t.Errorf("%v was torn apart", got)
	}
	c.submit(spec("amy", 2, 2), 1, 0)
	if got := jobs(c.plan()); !slices.Equal(got, []model.JobID{3}) {
		t.Errorf("placed %v, want the gang of two nodes", got)
	}
}

func TestABackoffIsWaitedFor(t *testing.T) {
	c := newCluster(t)
	c.node("n1", 1, "H200")
	s := spec("amy", 1, 0)
	s.MaxRetries = 1
	c.submit(s, 1, 0)
	c.plan()
	c.must(&command.Report{
		Node: "n1", Incarnation: model.Incarnation{1}, Epoch: 1, Reports: []model.Progress{
			{Rank: model.RankKey{Job: 1, N: 1}, Phase: model.RankExited, Exit: model.Exit{Code: 1}},
		},
		Cleaned: []model.Cleaned{{Slot: model.SlotKey{GPU: "n1-g0"}, Rank: model.RankKey{Job: 1, N: 1}}},
	})
	bodies, next := sched.Plan(&c.s, c.now)
	if len(bodies) > 0 || next != c.now.Add(10*time.Second) {
		t.Fatalf("%d commands, next at +%s", len(bodies), next.Sub(c.now))
	}
	c.now = next
	if got := c.plan(); len(got) != 1 {
		t.Errorf("placed %v once it was due", got)
	}
}

func TestWhatIsKeptGoesToWhomItIsKeptFor(t *testing.T) {
	c := newCluster(t)
	c.node("n1", 1, "H200")
	c.submit(spec("amy", 1, 0), 1, 0)
	c.plan()
	c.submit(spec("amy", 1, 0), 1, 0) // job 2: first, but nothing is kept for it
	c.submit(spec("amy", 1, 0), 1, 0)
	victim := model.RankKey{Job: 1, N: 1}
	c.must(&command.Preempt{
		Victims: []model.AttemptKey{victim.Attempt()}, Beneficiary: model.TaskKey{Job: 3},
		Until: c.now.Add(time.Hour),
	})
	if got := c.plan(); len(got) > 0 {
		t.Errorf("placed %v on a GPU that is in use", got)
	}
	c.must(&command.Report{
		Node: "n1", Incarnation: model.Incarnation{1}, Epoch: 1, Reports: []model.Progress{
			{Rank: victim, Phase: model.RankExited, Exit: model.Exit{Delivered: model.ReasonPreempt}},
		},
		Cleaned: []model.Cleaned{{Slot: model.SlotKey{GPU: "n1-g0"}, Rank: victim}},
	})
	if got := jobs(c.plan()); !slices.Equal(got, []model.JobID{3}) {
		t.Errorf("placed %v, want job 3", got)
	}
}

// TestEveryPlanIsAccepted plans on random clusters: Apply takes every command, and
// first fit leaves nothing out.
func TestEveryPlanIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		for i := range nodes {
			c.node(fmt.Sprint("n", i), rapid.IntRange(1, 5).Draw(t, "gpus"), rapid.SampledFrom([]string{"A", "B"}).Draw(t, "model"))
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			c.step(t, nodes)
			want := c.naive()
			got := c.plan()
			if !slices.Equal(got, want) {
				t.Fatalf("placed %v, first fit places %v", got, want)
			}
		}
	})
}

// step does something at random.
func (c *cluster) step(t *rapid.T, nodes int) {
	user := rapid.SampledFrom([]string{"amy", "bob"}).Draw(t, "user")
	n := uint32(rapid.IntRange(1, 4).Draw(t, "n")) //nolint:gosec // small
	switch rapid.IntRange(0, 9).Draw(t, "step") {
	case 0:
		c.must(&command.SetNodeMode{
			Node: model.NodeID(fmt.Sprint("n", rapid.IntRange(0, nodes-1).Draw(t, "node"))),
			Mode: model.NodeMode(n % 2),
		}) //nolint:gosec // 0 or 1
	case 1:
		c.must(&command.SetLimit{Limit: model.Limit{
			Scope: model.ScopeKey{Kind: model.ScopeUser, Name: user},
			GPUs:  int64(n), Live: int64(n), Queued: model.Unlimited, GPUsPerJob: model.Unlimited,
		}})
	case 2:
		c.apply(&command.Cancel{Job: model.JobID(n), Task: command.AllTasks})
	case 3:
		c.apply(&command.SetPriority{Job: model.JobID(n), Class: model.ClassHigh})
	default:
		s := spec(user, n, 0)
		s.Project = rapid.SampledFrom([]string{"", "p"}).Draw(t, "project")
		s.GPUModel = rapid.SampledFrom([]string{"", "A"}).Draw(t, "kind")
		if rapid.Bool().Draw(t, "gang") {
			s.Nodes = uint32(rapid.SampledFrom([]int{1, 2}).Draw(t, "on")) //nolint:gosec // small
			s.GPUs *= s.Nodes
		}
		tasks := uint32(rapid.IntRange(1, 3).Draw(t, "tasks")) //nolint:gosec // small
		c.submit(s, tasks, uint32(rapid.IntRange(0, 2).Draw(t, "throttle")))
	}
}

// naive is first fit said simply: task by task in order of submission, each alone
// on a copy of the state, carried out at once if it fits.
func (c *cluster) naive() (placed []model.TaskKey) {
	copied := &cluster{t: c.t, s: c.s, now: c.now}
	for key, task := range c.s.Tasks.All() {
		if task.State == model.TaskQueued && !task.Held && copied.first(key) {
			placed = append(placed, key)
		}
	}
	return placed
}

// first places a task as Apply allows it, on the first nodes.
func (c *cluster) first(key model.TaskKey) bool {
	job, _ := c.s.Jobs.Get(key.Job)
	free := map[model.NodeID][]model.SlotKey{}
	var ids []model.NodeID
	widest := map[model.NodeID]uint32{}
	var most uint32
	for k := range c.s.NodeGPUs.All() {
		g, _ := c.s.GPUs.Get(k.GPU)
		n, _ := c.s.Nodes.Get(k.Node)
		slot, _ := c.s.Slots.Get(model.SlotKey{GPU: k.GPU})
		if job.Spec.GPUModel != "" && g.Model != job.Spec.GPUModel {
			continue
		}
		widest[k.Node]++
		most = max(most, widest[k.Node])
		if slot.Owner == model.OwnerNone && n.Schedulable() {
			if len(free[k.Node]) == 0 {
				ids = append(ids, k.Node)
			}
			free[k.Node] = append(free[k.Node], slot.Key)
		}
	}
	ranks, each := max(job.Spec.Nodes, 1), job.Spec.GPUs/max(job.Spec.Nodes, 1)
	if job.Spec.Nodes == 0 && job.Spec.GPUs > most {
		each = 0 // spread
		slices.SortStableFunc(ids, func(a, b model.NodeID) int { return len(free[b]) - len(free[a]) })
	}
	p := &command.Place{Attempt: key.Attempt(1), Decided: c.s.Index}
	left := job.Spec.GPUs
	for _, id := range ids {
		n := each
		if each == 0 {
			n = min(left, uint32(len(free[id]))) //nolint:gosec // few
		} else if uint32(len(p.Ranks)) == ranks { //nolint:gosec // few
			break
		}
		if n > 0 && uint32(len(free[id])) >= n { //nolint:gosec // few
			node, _ := c.s.Nodes.Get(id)
			p.Ranks = append(p.Ranks, command.Placement{Node: id, Epoch: node.Epoch, Slots: free[id][:n]})
			left -= n
		}
	}
	if left > 0 {
		return false
	}
	before := c.s
	if c.apply(p)[0].OK() {
		return true
	}
	c.s = before
	return false
}
