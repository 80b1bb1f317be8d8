package apply_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// onCores makes a submission one of a job without GPUs.
func onCores(cpus, memory uint32) func(*command.Submit) {
	return func(b *command.Submit) {
		b.Spec.GPUs, b.Spec.Preemptible, b.Spec.CPUs, b.Spec.MemoryMB = 0, false, cpus, memory
	}
}

func overNodes(n uint32) func(*command.Submit) {
	return func(b *command.Submit) { b.Spec.Nodes = n }
}

// placeOn returns the placement of a job's first attempt on nodes, without GPUs.
func placeOn(c *statetest.Cluster, job model.JobID, nodes ...model.NodeID) *command.Place {
	b := &command.Place{Attempt: model.TaskKey{Job: job}.Attempt(1), Decided: c.State.Index}
	for _, id := range nodes {
		n, _ := c.State.Nodes.Get(id)
		b.Ranks = append(b.Ranks, command.Placement{Node: id, Epoch: n.Epoch})
	}
	return b
}

func heldOn(c *statetest.Cluster, id model.NodeID) model.Room {
	use, _ := c.State.NodeUse.Get(id)
	return use.Held
}

// A job without GPUs holds cores and memory of its node from its placement until its processes have ended, and no
// GPU. Nodes of the tests have 64 cores and 1 TiB, of which a quarter is for such jobs on a node with GPUs.
func TestCoresAreHeld(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Node("n1", 4)
	job := c.Submit(0, onCores(10, 50_000))
	if c.State.Queue.Len() != 0 || c.State.CPUQueue.Len() != 1 {
		t.Fatalf("%d tasks wait for GPUs, %d for cores", c.State.Queue.Len(), c.State.CPUQueue.Len())
	}
	if at := c.State.Settings().Topics[model.TopicQueue]; at != c.State.Index {
		t.Errorf("the submission is entry %d, the queue has changed at %d: no pass looks at it", c.State.Index, at)
	}
	a := c.Place(job)
	if held := heldOn(c, "n1"); held != (model.Room{CPUs: 10, MemoryMB: 50_000}) {
		t.Errorf("node n1 holds %+v", held)
	}
	use, _ := c.State.Usage.Get(theUser("alice"))
	if use.CPUs != 10 || use.CPULive != 1 || use.Live != 0 || use.GPUs != 0 || use.Yields != 0 {
		t.Errorf("alice uses %+v", use)
	}
	if u, _ := c.State.NodeUse.Get("n1"); u.Free != 4 || u.Owned != 0 || u.Given != 0 {
		t.Errorf("node n1 counts %+v", u)
	}
	if d := c.State.Desired("n1"); len(d.Ranks) != 1 || len(d.Ranks[0].GPUs) != 0 || !d.Ranks[0].Run {
		t.Errorf("node n1 is to run %+v", d.Ranks)
	}
	c.Start(a)
	c.Do(&command.Cancel{Job: job, Task: model.AllTasks})
	if held := heldOn(c, "n1"); held.CPUs != 10 {
		t.Errorf("node n1 holds %+v before the processes have ended", held)
	}
	c.Stopped(a)
	if held := heldOn(c, "n1"); held != (model.Room{}) {
		t.Errorf("node n1 holds %+v after the end", held)
	}
	if s := c.State.Settings().Totals; s.GPUSeconds != 0 || s.Estimates != 0 {
		t.Errorf("the totals count %d GPU-seconds and %d estimates", s.GPUSeconds, s.Estimates)
	}
}

// No placement exceeds the room of a node, that of a node without GPUs being all of it.
func TestRoomOfANode(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Node("n1", 4)
	c.Node("n2", 0)
	for _, v := range []struct {
		node         model.NodeID
		cpus, memory uint32
		want         model.Code
	}{
		{"n1", 17, 1000, model.CodeConflict},
		{"n1", 1, 1<<18 + 1, model.CodeConflict},
		{"n1", 10, 1 << 17, model.CodeOK},
		{"n1", 7, 1000, model.CodeConflict},
		{"n1", 1, 1<<17 + 1, model.CodeConflict},
		{"n1", 6, 1 << 17, model.CodeOK},
		{"n1", 1, 1, model.CodeConflict},
		{"n2", 65, 1000, model.CodeConflict},
		{"n2", 64, 1 << 20, model.CodeOK},
	} {
		job := c.Submit(0, onCores(v.cpus, v.memory))
		wantCode(t, c.Try(placeOn(c, job, v.node)), v.want)
	}
	c.Do(&command.AdjustPolicy{Tuning: []model.TuningValue{{Name: "cpu_share", Value: "0"}}})
	if held := heldOn(c, "n1"); held.CPUs != 16 {
		t.Errorf("a smaller share takes cores away: node n1 holds %+v", held)
	}
	wantCode(t, c.Try(placeOn(c, c.Submit(0, onCores(1, 1)), "n1")), model.CodeConflict)
	gpus := c.Place(c.Submit(4)) // GPUs never wait for cores
	c.Start(gpus)
}

// A gang without GPUs has a rank on each of its nodes, each of which holds what is asked for.
func TestAGangOnCores(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Node("n1", 4)
	c.Node("n2", 0)
	job := c.Submit(0, onCores(4, 1000), overNodes(2))
	wantCode(t, c.Try(placeOn(c, job, "n1")), model.CodeInvalid)
	wantCode(t, c.Try(placeOn(c, job, "n1", "n2")), model.CodeOK)
	if a, b := heldOn(c, "n1"), heldOn(c, "n2"); a.CPUs != 4 || b.CPUs != 4 {
		t.Errorf("the nodes hold %+v and %+v", a, b)
	}
	use, _ := c.State.Usage.Get(theUser("alice"))
	if use.CPUs != 8 || use.CPULive != 1 {
		t.Errorf("alice uses %+v", use)
	}
}

// The limit of cores bounds jobs without GPUs, and those of GPUs and of running jobs do not.
func TestLimitsOfCores(t *testing.T) {
	t.Parallel()
	for _, scope := range []model.ScopeKey{{Kind: model.ScopeCluster}, theUser("alice"), theProject("vision")} {
		c := statetest.New(t)
		c.Node("n1", 4)
		c.Do(adjust(scope, int64(model.LimitCPUs), 8, int64(model.LimitGPUs), 0, int64(model.LimitLive), 0))
		of := func(cpus uint32) model.JobID { return c.Submit(0, onCores(cpus, 1000), by("alice", "vision")) }
		wantCode(t, c.Try(placeOn(c, of(9), "n1")), model.CodeLimit)
		wantCode(t, c.Try(placeOn(c, of(5), "n1")), model.CodeOK)
		wantCode(t, c.Try(placeOn(c, of(4), "n1")), model.CodeLimit)
		wantCode(t, c.Try(placeOn(c, of(3), "n1")), model.CodeOK)
		c.Do(adjust(scope, int64(model.LimitCPUs), 0))
		wantCode(t, c.Try(placeOn(c, of(1), "n1")), model.CodeLimit)
		c.Do(adjust(scope, int64(model.LimitCPUs), model.Unlimited))
		wantCode(t, c.Try(placeOn(c, of(1), "n1")), model.CodeOK)
	}
}

// Jobs without GPUs run whatever the quota of GPU-hours, and count nothing to it or to the running jobs.
func TestCoresTakeNoGPUHours(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Node("n1", 4)
	c.Do(quota("alice", 3600))
	gpus := c.Place(c.Submit(4))
	c.Start(gpus)
	c.Wait(2 * time.Hour)
	wantCode(t, c.Try(placeOn(c, c.Submit(0, onCores(1, 1000)), "n1")), model.CodeOK)
	if q := c.State.QuotaOf(theUser("alice"), c.Now); !q.Exceeded() {
		t.Fatalf("the quota is not used up: %+v", q)
	}
}

// No GPU is kept for a job without GPUs, and such a job is not stopped for others.
func TestCoresAndPreemption(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Node("n1", 4)
	gpus, waits := c.Place(c.Submit(4)), c.Submit(0, onCores(1, 1000))
	cores, more := c.Place(c.Submit(0, onCores(1, 1000))), c.Submit(4)
	preempt := func(victim model.AttemptKey, to model.JobID) command.Result {
		return c.Try(&command.Preempt{Victims: []model.AttemptKey{victim}, Beneficiary: model.TaskKey{Job: to}, Until: c.Now.Add(time.Minute)})
	}
	wantCode(t, preempt(gpus, waits), model.CodeNotQueued)
	wantCode(t, preempt(cores, more), model.CodeDenied)
	wantCode(t, c.Try(&command.Suspend{Attempts: []model.AttemptKey{cores}}), model.CodeDenied)
}

// A retry of a job without GPUs keeps off no GPUs, and a rank that was given up gives its cores back.
func TestEndsOnCores(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 4)
	job := c.Submit(0, onCores(2, 1000), func(b *command.Submit) { b.Spec.MaxRetries = 1 })
	a := c.Place(job)
	c.Start(a)
	c.Exit(a, 1)
	task, _ := c.State.Tasks.Get(a.TaskKey())
	if task.State != model.TaskQueued || task.Retries != 1 || task.Avoid != 0 || heldOn(c, "n1") != (model.Room{}) {
		t.Fatalf("the task is %+v, node n1 holds %+v", task, heldOn(c, "n1"))
	}
	c.Wait(time.Minute)
	b := c.Place(job)
	c.Start(b)
	n.Reboot()
	if held := heldOn(c, "n1"); held != (model.Room{}) {
		t.Errorf("after a reboot node n1 holds %+v", held)
	}
	if a, _ := c.State.Attempts.Get(b); a.Live() {
		t.Errorf("after a reboot the attempt is %s", a.State)
	}
}

// A job without GPUs starts on a node only if it certainly ends before a maintenance there.
func TestCoresAndMaintenance(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Node("n1", 0)
	c.Do(&command.Book{Booking: model.Booking{
		Kind: model.BookMaintenance, Nodes: "n1", Start: c.Now.Add(2 * time.Hour), End: c.Now.Add(3 * time.Hour),
	}})
	wantCode(t, c.Try(placeOn(c, c.Submit(0, onCores(1, 1000)), "n1")), model.CodeUnavailable)
	wantCode(t, c.Try(placeOn(c, c.Submit(0, onCores(1, 1000), limited(2*time.Hour)), "n1")), model.CodeUnavailable)
	wantCode(t, c.Try(placeOn(c, c.Submit(0, onCores(1, 1000), limited(time.Hour)), "n1")), model.CodeOK)
}

// The limit of a job without GPUs is not raised to an end within a maintenance of a node of its own that it would not
// have run into before.
func TestExtensionsOnCoresAndMaintenance(t *testing.T) {
	t.Parallel()
	maintained := func(c *statetest.Cluster, node string) {
		c.Do(&command.Book{Booking: model.Booking{
			Kind: model.BookMaintenance, Nodes: node, Start: c.Now.Add(2 * time.Hour), End: c.Now.Add(3 * time.Hour),
		}})
	}
	for name, v := range map[string]struct {
		closed string
		limit  time.Duration // of the job
		longer time.Duration
		want   model.Code
	}{
		"into it":               {"n1", time.Hour, 2 * time.Hour, model.CodeUnavailable},
		"of the second node":    {"n2", time.Hour, 2 * time.Hour, model.CodeUnavailable},
		"of another node":       {"n3", time.Hour, 2 * time.Hour, model.CodeOK},
		"to an end before":      {"n1", time.Hour, 90 * time.Minute, model.CodeOK},
		"it ran into it before": {"n1", 3 * time.Hour, 4 * time.Hour, model.CodeOK},
	} {
		c := statetest.New(t)
		c.Node("n1", 0)
		c.Node("n2", 4)
		c.Node("n3", 0)
		job := c.Submit(0, onCores(1, 1000), overNodes(2), limited(v.limit))
		c.Do(placeOn(c, job, "n1", "n2"))
		maintained(c, v.closed)
		if r := c.Try(&command.Extend{Job: job, TimeLimit: v.longer}); r.Code != v.want {
			t.Errorf("%s: the extension is answered by %+v, want %s", name, r, v.want)
		}
	}
}

// Runs without GPUs take no room from what is known of runs with GPUs: they are forgotten first, and are not stored if
// there is no room.
func TestRunsOnCoresAreForgottenFirst(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		known, runs uint32 // GPUs of what is known, but for the first, and of the run that ends
		kept        bool   // the first, which has GPUs and is the oldest
		stored      bool   // the run that ends
	}{
		{4, 0, true, false}, {4, 4, false, true}, {0, 4, true, true}, {0, 0, true, true},
	} {
		c := statetest.New(t)
		c.Node("n1", 4)
		job := c.Submit(v.runs, func(b *command.Submit) {
			b.Spec.Name = "new"
			if v.runs == 0 {
				onCores(1, 1000)(b)
			}
		})
		a := c.Place(job)
		c.Start(a)
		x := tx.Begin(&c.State, state.Meta{Index: c.State.Index, Term: c.State.Term, At: c.Now})
		first := model.SketchKey{User: "u", Name: "first", GPUs: 1}
		for i := range state.MaxSketches {
			k := model.SketchKey{User: fmt.Sprint("u", i%100), Name: fmt.Sprint("n", i), GPUs: v.known}
			if i == 0 {
				k = first
			}
			x.Sketches.Put(model.Sketch{Key: k, Updated: uint64(i + 1)})
		}
		c.State, _ = x.Finish(nil)
		c.Now = c.Now.Add(time.Minute)
		c.Exit(a, 0)
		row, _ := c.State.Jobs.Get(job)
		if c.State.Sketches.Has(first) != v.kept || c.State.Sketches.Has(state.PastKey(&row.Spec)) != v.stored ||
			c.State.Sketches.Len() != state.MaxSketches {
			t.Errorf("%+v: the oldest is kept: %v, the run is stored: %v, %d are known", v, c.State.Sketches.Has(first),
				c.State.Sketches.Has(state.PastKey(&row.Spec)), c.State.Sketches.Len())
		}
	}
}
