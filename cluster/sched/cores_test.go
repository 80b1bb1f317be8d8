package sched_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/cluster/sched/search"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// aboutGPUs returns what a plan does with GPUs.
func aboutGPUs(bodies []command.Body) (out []string) {
	for _, b := range bodies {
		switch b := b.(type) {
		case *command.Place:
			if len(b.Ranks[0].Slots) > 0 {
				out = append(out, fmt.Sprintf("place %v %+v", b.Attempt, b.Ranks))
			}
		case *command.Grant:
			out = append(out, fmt.Sprintf("grant %v %+v", b.ID, b.Placement))
		case *command.Suspend:
			out = append(out, fmt.Sprintf("suspend %v", b.Attempts))
		case *command.Preempt:
			out = append(out, fmt.Sprintf("preempt %v for %v: %v until %v", b.Victims, b.Beneficiary, b.Slots, b.Until))
		default:
			out = append(out, fmt.Sprintf("%s %+v", b.Kind(), b))
		}
	}
	return out
}

// withCores is the cluster with more jobs without GPUs, some of which run.
func withCores(t *rapid.T, c *schedtest.Cluster) *schedtest.Cluster {
	other := c.Copied()
	for range rapid.IntRange(1, 4).Draw(t, "jobs without GPUs") {
		s := schedtest.OnCores(schedtest.Spec(rapid.SampledFrom([]string{"amy", "bob", "cat"}).Draw(t, "by"), 0, 0), uint32(rapid.IntRange(1, 9).Draw(t, "cpus")),
			uint32(rapid.IntRange(0, 2).Draw(t, "over")))
		minutes := rapid.SampledFrom([]int{0, 0, 60, 62, 65, 120, 125}).Draw(t, "for") // some of one step of run times, others not
		s.Class, s.Estimate = model.Class(rapid.IntRange(1, 4).Draw(t, "of class")), time.Duration(minutes)*time.Minute
		s.TimeLimit = rapid.SampledFrom([]time.Duration{0, 0, 10 * time.Minute, 2 * time.Hour}).Draw(t, "at most")
		s.Placement = rapid.SampledFrom([]string{"", "spread", "round_robin"}).Draw(t, "how")
		other.Apply(&command.Submit{Spec: s, Tasks: uint32(rapid.IntRange(1, 3).Draw(t, "tasks of it"))})
	}
	bodies, _ := sched.Plan(&other.State, other.Now)
	for _, b := range bodies {
		if b, is := b.(*command.Place); is && len(b.Ranks[0].Slots) == 0 && rapid.Bool().Draw(t, "runs") {
			b.Decided = other.State.Index
			other.Must(b)
			other.Begin(b.Attempt.TaskKey())
			if rapid.IntRange(0, 2).Draw(t, "ends") == 0 {
				other.End(b.Attempt.TaskKey(), int32(rapid.IntRange(0, 1).Draw(t, "code")))
			}
		}
	}
	return other
}

// TestJobsWithoutGPUsChangeNothingForOthers is the law of jobs without GPUs: whichever of them wait, run or have
// ended, a pass does the same with GPUs, and so do a search and the passes that go on from it.
func TestJobsWithoutGPUsChangeNothingForOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.Bookable(t)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			schedtest.Mixed(t, c, nodes)
			if rapid.Bool().Draw(t, "carry out") {
				c.Plan()
				schedtest.BeginOne(c)
			}
		}
		other := withCores(t, c)
		without, _, one := sched.PlanLoaded(&c.State, c.Now, nil)
		with, _, two := sched.PlanLoaded(&other.State, other.Now, nil)
		if a, b := aboutGPUs(without), aboutGPUs(with); !slices.Equal(a, b) {
			t.Fatalf("without jobs on cores the plan is\n%v\nwith them\n%v", a, b)
		}
		if one == nil || two == nil {
			return
		}
		without, _ = search.Between(&c.State, c.Now, one)
		with, _ = search.Between(&other.State, other.Now, two)
		if a, b := aboutGPUs(without), aboutGPUs(with); !slices.Equal(a, b) {
			t.Fatalf("after a search without jobs on cores the plan is\n%v\nwith them\n%v", a, b)
		}
	})
}

// Jobs without GPUs take nodes without GPUs first, then those whose GPUs are all in use, then those with the fewest
// free GPUs; of equal ones that with the fewest free cores.
func TestWhereJobsWithoutGPUsRun(t *testing.T) {
	t.Parallel()
	c := schedtest.New(t, "fcfs")
	c.Node("idle", 4, "A")
	c.Node("busy", 4, "A")
	c.Node("half", 4, "A")
	c.Node("none", 0, "")
	busy := schedtest.Spec("amy", 4, 0)
	busy.Nodelist = "busy"
	half := schedtest.Spec("amy", 2, 0)
	half.Nodelist = "half"
	c.Submit(busy, 1, 0)
	c.Submit(half, 1, 0)
	c.Plan()
	for _, v := range []struct {
		cpus uint32
		want string
	}{
		{20, "3: none[]"}, {12, "4: none[]"}, {5, "5: busy[]"}, {3, "6: busy[]"}, {8, "7: half[]"}, {1, "8: idle[]"},
	} {
		c.Submit(schedtest.Cores("bob", v.cpus), 1, 0)
		if got := c.Drawn(); !slices.Equal(got, []string{v.want}) {
			t.Fatalf("%d cores: the plan is %v, want %s", v.cpus, got, v.want)
		}
		c.Plan()
	}
}

// A job without GPUs that finds no room keeps what it needs from the expected time on: no stream of small jobs passes
// it for ever, and jobs that end in time, or leave it enough, do pass.
func TestRoomIsKeptForTheFirst(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		cpus   uint32
		long   time.Duration
		passes bool
	}{
		{12, 10 * time.Hour, false}, {12, time.Hour, true}, {8, 10 * time.Hour, true}, {9, 10 * time.Hour, false},
	} {
		c := schedtest.New(t, "fcfs")
		c.Node("n1", 0, "")
		long := schedtest.Cores("amy", 20)
		long.Estimate = 2 * time.Hour
		first := model.TaskKey{Job: c.Submit(long, 1, 0)}
		c.Plan()
		c.Begin(first)
		c.Submit(schedtest.Cores("bob", 24), 1, 0) // it waits for the first, and leaves 8 of 32 cores from then on
		s := schedtest.Cores("cat", v.cpus)
		s.Estimate = v.long
		key := model.TaskKey{Job: c.Submit(s, 1, 0)}
		if got := slices.Contains(c.Copied().Plan(), key); got != v.passes {
			t.Errorf("%d cores for %s: placed is %v, want %v", v.cpus, v.long, got, v.passes)
		}
		if e, _ := explain.Task(&c.State, c.Now, key); !v.passes && !strings.Contains(e.Summary, "cores of node n1 are kept for job 2") {
			t.Errorf("%d cores for %s: %s", v.cpus, v.long, e.Summary)
		}
		if e, _ := explain.Task(&c.State, c.Now, model.TaskKey{Job: 2}); !strings.Contains(e.Summary, "12 of 32 cores for jobs without GPUs are free on n1; the job needs 24") {
			t.Errorf("the job that waits: %s", e.Summary)
		}
	}
}

// An explanation by kept room names the node on which the job would fit, not one with more free cores.
func TestWhereRoomIsKept(t *testing.T) {
	t.Parallel()
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 0, "")
	c.Node("n2", 0, "")
	on := func(s model.Spec, node string, memory uint32) model.TaskKey {
		s.Nodelist, s.MemoryMB, s.Estimate = node, memory, 2*time.Hour
		return model.TaskKey{Job: c.Submit(s, 1, 0)}
	}
	first, full := on(schedtest.Cores("amy", 20), "n1", 20_000), on(schedtest.Cores("amy", 1), "n2", 60_000)
	c.Plan()
	c.Begin(first)
	c.Begin(full)
	on(schedtest.Cores("bob", 24), "n1", 24_000)
	s := schedtest.Cores("cat", 12)
	s.Estimate = 10 * time.Hour
	key := model.TaskKey{Job: c.Submit(s, 1, 0)}
	e, _ := explain.Task(&c.State, c.Now, key)
	if len(e.Blockers) != 1 || e.Blockers[0].Room.Node != "n1" || e.Blockers[0].Room.Free.CPUs != 12 || !strings.Contains(e.Summary, "cores of node n1 are kept for job 3") {
		t.Errorf("the explanation is %q, %+v", e.Summary, e.Blockers)
	}
}

// A plan that jobs with GPUs fill starts no job without GPUs, and the explanation says so.
func TestAFullPlan(t *testing.T) {
	t.Parallel()
	c := schedtest.New(t, "fcfs")
	for n := range 33 {
		c.Node(fmt.Sprint("n", n), 8, "A")
	}
	c.Submit(schedtest.Spec("amy", 1, 0), 260, 0)
	key := model.TaskKey{Job: c.Submit(schedtest.Cores("bob", 1), 1, 0)}
	if placed := c.Copied().Plan(); slices.Contains(placed, key) || len(placed) != 256 {
		t.Fatalf("the plan places %d tasks: %v", len(placed), placed)
	}
	e, _ := explain.Task(&c.State, c.Now, key)
	if len(e.Blockers) != 1 || !strings.Contains(e.Summary, "the plan is full with 256 commands before it") {
		t.Errorf("the explanation is %q, %+v", e.Summary, e.Blockers)
	}
}

// No room is kept on a node whose maintenance begins before the task could end there, counted from when it could start.
func TestNoRoomIsKeptBeforeAMaintenance(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		until  time.Duration // when the maintenance begins
		passes bool
	}{{150 * time.Minute, true}, {4 * time.Hour, false}} {
		c := schedtest.New(t, "fcfs")
		c.Node("n1", 0, "")
		long := schedtest.Cores("amy", 20)
		long.Estimate, long.TimeLimit = 2*time.Hour, 2*time.Hour
		first := model.TaskKey{Job: c.Submit(long, 1, 0)}
		c.Plan()
		c.Begin(first)
		c.Must(&command.Book{Booking: model.Booking{
			Kind: model.BookMaintenance, Nodes: "n1", Start: c.Now.Add(v.until), End: c.Now.Add(v.until + time.Hour),
		}})
		waits, passes := schedtest.Cores("bob", 24), schedtest.Cores("cat", 12)
		waits.TimeLimit, passes.TimeLimit, passes.Estimate = time.Hour, 130*time.Minute, 130*time.Minute
		c.Submit(waits, 1, 0)
		key := model.TaskKey{Job: c.Submit(passes, 1, 0)}
		if got := slices.Contains(c.Copied().Plan(), key); got != v.passes {
			t.Errorf("a maintenance in %s: placed is %v, want %v", v.until, got, v.passes)
		}
	}
}

// A job that passes the first exactly if it ends in time does so, though one of about the same length before it does not.
func TestAShorterJobOfTheSameStepPasses(t *testing.T) {
	t.Parallel()
	for _, limits := range [][2]time.Duration{{0, 0}, {2 * time.Hour, 2 * time.Hour}} {
		c := schedtest.New(t, "fcfs")
		c.Node("n1", 0, "")
		long := schedtest.Cores("amy", 20)
		long.Estimate = 62 * time.Minute
		first := model.TaskKey{Job: c.Submit(long, 1, 0)}
		c.Plan()
		c.Begin(first)
		c.Submit(schedtest.Cores("bob", 24), 1, 0)
		var keys []model.TaskKey
		for i, minutes := range []time.Duration{65, 60} {
			s := schedtest.Cores("cat", 12)
			s.Estimate, s.TimeLimit = minutes*time.Minute, limits[i]
			keys = append(keys, model.TaskKey{Job: c.Submit(s, 1, 0)})
		}
		if placed := c.Copied().Plan(); slices.Contains(placed, keys[0]) || !slices.Contains(placed, keys[1]) {
			t.Errorf("with time limits %v the plan places %v, want the last only", limits, placed)
		}
	}
}

// The plan places a job without GPUs exactly if nothing blocks it, and each change that is said to unblock it does;
// all of the plan is accepted.
func TestExplanationsOfJobsWithoutGPUs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.Bookable(t)
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			schedtest.Mixed(t, c, nodes)
			c = withCores(t, c)
			placed := c.Copied().Plan()
			for k := range c.State.CPUQueue.All() {
				e, waits := explain.Task(&c.State, c.Now, k.Task)
				if !waits || slices.Contains(placed, k.Task) != (len(e.Blockers) == 0) {
					t.Fatalf("the plan places %v; task %s is blocked by %+v", placed, k.Task, e.Blockers)
				}
				schedtest.CheckUnblock(t, c, &e)
			}
			c.Plan()
		}
	})
}

// A forecast knows when a job without GPUs starts: as soon as the cores that it needs are expected to be free.
func TestForecastOfJobsWithoutGPUs(t *testing.T) {
	t.Parallel()
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 0, "")
	long := schedtest.Cores("amy", 20)
	long.Estimate, long.TimeLimit = time.Hour, time.Hour
	first := model.TaskKey{Job: c.Submit(long, 1, 0)}
	c.Plan()
	c.Begin(first)
	c.Submit(schedtest.Cores("bob", 24), 1, 0)
	c.Submit(schedtest.Cores("bob", 8), 1, 0)
	f := forecast.Foresee(&c.State, c.Now)
	if len(f.Running) != 1 || len(f.Waiting) != 2 || f.Defect != nil {
		t.Fatalf("the forecast is %+v", f)
	}
	for i, want := range []struct {
		start time.Duration
		bar   string
	}{{time.Hour, "cores"}, {0, ""}} {
		got := &f.Waiting[i]
		if late := got.Start.Expected.Sub(c.Now) - want.start; !got.Start.Known || late < 0 || late > 2*time.Minute ||
			string(got.Bar) != want.bar || got.Position != i+1 {
			t.Errorf("task %s: %+v", got.Task, got)
		}
	}
}
