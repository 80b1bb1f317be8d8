package sched_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func TestExplainQuotas(t *testing.T) {
	hours := func(c *schedtest.Cluster, over model.OverQuota) {
		c.Adjust(schedtest.User("amy"), int64(model.LimitGPUTime), 3600, int64(model.LimitPeriod), int64(24*time.Hour), int64(model.LimitOver),
			int64(over))
	}
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "a quota of GPU time", Make: func(c *schedtest.Cluster) {
				hours(c, model.OverStop)
				c.Submit(schedtest.Spec("amy", 2, 0), 2, 0)
				c.Plan()
				c.Now = c.Now.Add(45 * time.Minute)
				c.Must(&command.AdvanceClock{})
				c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
			},
			Blockers: "gpu_hours: user amy may use 1 GPU-hour in a period and has used 3: the next begins at 2023-11-15T00:00:00Z",
			Unblock:  "the next period begins, 2023-11-15T00:00:00Z\nthe limit of user amy is raised to 4 GPU-hours in a period",
		},
		{
			Name: "a quota that lets jobs go last", Make: func(c *schedtest.Cluster) {
				hours(c, model.OverLower)
				c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
				c.Plan()
				c.Now = c.Now.Add(45 * time.Minute)
				c.Must(&command.AdvanceClock{})
				c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
				c.Submit(schedtest.Spec("bob", 3, 0), 1, 0)
			}, Blockers: "", Unblock: "",
		},
		{
			Name: "the default of users", Make: func(c *schedtest.Cluster) {
				c.Adjust(model.ScopeKey{Kind: model.ScopeCluster}, int64(model.LimitUserGPUs), 2)
				c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
				c.Plan()
				c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
			},
			Blockers: "limit: user amy may use 2 GPUs, the default of users (gpus_per_user of the cluster), uses 2, and this needs 1",
			Unblock:  "the limit of user amy is raised to 3 GPUs\njob 1 ends",
		},
		{
			Name: "a longer run time than is allowed", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.TimeLimit = 3 * time.Hour }), 1, 0)
				c.Adjust(schedtest.User("amy"), int64(model.LimitRunTime), int64(2*time.Hour))
			},
			Blockers: "max_run_time: user amy may run a job for 2h0m0s at most, and this one's time limit is 3h0m0s",
			Unblock:  "the limit of user amy is raised to 3h0m0s for one job",
		},
	})
}

// Who has the default waits at it while others start; an own limit, greater or smaller,
// counts instead. Searches and passes in order keep to it alike.
func TestDefaultOfUsers(t *testing.T) {
	for _, policy := range []string{"fcfs", model.DefaultPolicy} {
		c := schedtest.New(t, policy)
		c.Node("n1", 8, "H200")
		c.Adjust(model.ScopeKey{Kind: model.ScopeCluster}, int64(model.LimitUserGPUs), 2)
		c.Adjust(schedtest.User("bob"), int64(model.LimitGPUs), 3)
		c.Adjust(schedtest.User("cay"), int64(model.LimitGPUs), 1)
		got := map[string]int{}
		for _, name := range []string{"amy", "bob", "cay"} {
			for range 4 {
				c.Submit(schedtest.Spec(name, 1, 0), 1, 0)
			}
		}
		for _, k := range c.Plan() {
			job, _ := c.State.Jobs.Get(k.Job)
			got[job.Spec.User]++
		}
		if got["amy"] != 2 || got["bob"] != 3 || got["cay"] != 1 {
			t.Errorf("%s: started are %v", policy, got)
		}
		c.Adjust(model.ScopeKey{Kind: model.ScopeCluster}, int64(model.LimitUserGPUs), model.Unlimited)
		if placed := c.Plan(); len(placed) != 2 {
			t.Errorf("%s: once it is lifted %v start", policy, placed)
		}
	}
}

// Where a search finds a quota in the way, and no other job goes first, the quota is the only reason named.
func TestASearchNamesTheQuotaAlone(t *testing.T) {
	c := schedtest.New(t, model.DefaultPolicy)
	c.Tune(func(t *model.Tuning) { t.Backfill = model.BackfillReserve })
	c.Node("n1", 4, "H200")
	c.Limit("amy", 1, model.Unlimited)
	c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
	e, _ := explain.Task(&c.State, c.Now, model.TaskKey{Job: 1})
	if got, _ := schedtest.Said(&e); got != "limit: user amy may use 1 GPU, uses 0, and this needs 2: it never starts unless that is raised, or it takes fewer (--min-gpus 1)" {
		t.Errorf("it is said: %s", got)
	}
}

func TestExplainPools(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "dynamic", Make: func(c *schedtest.Cluster) {
				schedtest.Own(c, model.PoolDynamic, 8)
				c.Submit(schedtest.Spec("bob", 4, 0), 2, 0)
			}, Blockers: "", Unblock: "",
		},
		{
			Name: "static, beyond what is owned", Make: func(c *schedtest.Cluster) {
				schedtest.Own(c, model.PoolStatic, 3)
				c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
				c.Plan()
				c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
			},
			Blockers: "pool: allocation is static, and user amy owns 3 GPUs: 2 in use, and this needs 2",
			Unblock:  "the limit of user amy is raised to 4 GPUs of its own\nallocation is set to dynamic, so that all users may use all GPUs\njob 1 ends",
		},
		{
			Name: "static, what others own", Make: func(c *schedtest.Cluster) {
				schedtest.Own(c, model.PoolStatic, 7)
				c.Submit(schedtest.Spec("bob", 2, 0), 1, 0)
			},
			Blockers: "pool: users without a guarantee share 1 GPU: 0 in use, and this needs 2",
			Unblock:  "allocation is set to dynamic, so that all users may use all GPUs\n1 node more, with 2 GPUs free",
		},
		{
			Name: "static, of what is in service", Make: func(c *schedtest.Cluster) {
				schedtest.Own(c, model.PoolStatic, 3)
				c.Must(&command.SetNodeMode{Node: "n2", Mode: model.ModeCordoned})
				c.Submit(schedtest.Spec("bob", 2, 0), 1, 0)
			},
			Blockers: "pool: users without a guarantee share 1 GPU: 0 in use, and this needs 2",
			Unblock:  "allocation is set to dynamic, so that all users may use all GPUs\n1 node more, with 2 GPUs free",
		},
	})
}

func TestExplainHybridPools(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "hybrid, within the guarantee", Make: func(c *schedtest.Cluster) {
				schedtest.Own(c, model.PoolHybrid, 4)
				c.Submit(schedtest.Spec("bob", 2, 0), 2, 0)
				c.Plan()
				c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
			}, Blockers: "", Unblock: "",
		},
		{
			Name: "hybrid, what is kept", Make: func(c *schedtest.Cluster) {
				schedtest.Own(c, model.PoolHybrid, 6)
				c.Submit(schedtest.Spec("bob", 2, 0), 2, 0)
				c.Plan()
				c.Submit(schedtest.Spec("eve", 1, 0), 1, 0)
			},
			Blockers: "pool: of the 4 GPUs beyond guarantees 4 are in use, and this needs 1: the others are guaranteed to their owners",
			Unblock: "allocation is set to dynamic, so that all users may use all GPUs\n1 node more, with 1 GPU free\n" +
				"job 1 ends\njob 1.1 ends",
		},
		{
			Name: "hybrid, what an owner borrows", Make: func(c *schedtest.Cluster) {
				schedtest.Own(c, model.PoolHybrid, 6)
				c.Submit(schedtest.Spec("bob", 3, 0), 1, 0)
				c.Plan()
				c.Submit(schedtest.Spec("amy", 8, 0), 1, 0)
			},
			Blockers: "pool: of the 4 GPUs beyond guarantees 3 are in use, and this needs 2: the others are guaranteed to their owners\n" +
				"gpus: it needs 8 GPUs: 5 are free, at most 4 on one node",
			Unblock: "1 node more, with 3 GPUs free\njob 1 ends",
		},
	})
}

// Jobs over a quota go after all that are within theirs, under every policy; no job
// that may start waits for them.
func TestOverQuotaGoesLast(t *testing.T) {
	for _, policy := range model.Policies() {
		t.Run(policy, func(t *testing.T) {
			c := schedtest.New(t, policy)
			c.Tune(func(t *model.Tuning) { t.Backfill = model.BackfillReserve })
			c.Node("n1", 4, "H200")
			c.Adjust(schedtest.User("amy"), int64(model.LimitGPUTime), 3600, int64(model.LimitPeriod), int64(24*time.Hour),
				int64(model.LimitOver), int64(model.OverLower))
			c.Submit(schedtest.Spec("amy", 4, 0, schedtest.Class(model.ClassCritical)), 1, 0)
			c.Plan()
			c.Now = c.Now.Add(30 * time.Minute)
			c.Must(&command.AdvanceClock{})
			c.Submit(schedtest.Spec("amy", 4, 0, schedtest.Class(model.ClassCritical)), 1, 0) // a gang, the older and of the higher class
			c.Now = c.Now.Add(15 * time.Minute)
			c.Must(&command.AdvanceClock{})
			c.End(model.TaskKey{Job: 1}, 0)
			c.Submit(schedtest.Spec("amy", 1, 0, schedtest.Class(model.ClassCritical)), 1, 0)
			c.Submit(schedtest.Spec("bob", 1, 0, schedtest.Class(model.ClassLow)), 1, 0)
			var order []model.JobID
			for e := range queue.Order(&c.State, c.Now, 0) {
				order = append(order, e.Task.Job)
			}
			if order[0] != 4 {
				t.Errorf("the order is %v", order)
			}
			if placed := schedtest.Jobs(c.Plan()); !slices.Contains(placed, 4) || slices.Contains(placed, 2) {
				t.Errorf("placed are %v", placed)
			}
		})
	}
}

// A pass that a quota keeps something from is made again when the next period begins.
func TestThePlanWakesForTheNextPeriod(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 4, "H200")
	c.Adjust(schedtest.User("amy"), int64(model.LimitGPUTime), 60, int64(model.LimitPeriod), int64(time.Hour))
	c.Submit(schedtest.Spec("amy", 2, 0), 2, 0)
	c.Plan()
	c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
	for live := schedtest.Live(c); len(live) > 0; live = live[1:] {
		c.Now = c.Now.Add(15 * time.Minute)
		c.Must(&command.AdvanceClock{})
		c.End(live[0], 0)
	}
	if placed := c.Plan(); len(placed) > 0 {
		t.Fatalf("%v start over the quota", placed)
	}
	_, next := sched.Plan(&c.State, c.Now)
	if _, request := model.PeriodOf(c.Now, time.Hour); next != request {
		t.Fatalf("the next plan is due at %s, want %s", next.Time(), request.Time())
	}
	c.Now = next
	c.Must(&command.AdvanceClock{})
	if placed := schedtest.Jobs(c.Plan()); !slices.Equal(placed, []model.JobID{2}) {
		t.Errorf("in the next period %v start", placed)
	}
}

// In a search pools bound what starts exactly as in order: what is kept for owners stays
// idle, and an owner takes of its own first.
func TestTheSearchKeepsPools(t *testing.T) {
	for _, v := range []struct {
		mode       model.PoolMode
		bobs, amys int
	}{{model.PoolDynamic, 8, 0}, {model.PoolStatic, 5, 3}, {model.PoolHybrid, 6, 2}} {
		t.Run(v.mode.String(), func(t *testing.T) {
			c := schedtest.New(t, model.DefaultPolicy)
			c.Tune(func(t *model.Tuning) { t.Backfill = model.BackfillReserve })
			c.Node("n1", 8, "H200")
			c.Must(&command.SetPools{Mode: v.mode, Part: 250})
			c.Adjust(schedtest.User("amy"), int64(model.LimitReserved), 3)
			c.Submit(schedtest.Spec("bob", 1, 0), 9, 0)
			c.Plan()
			bobs := len(schedtest.Live(c))
			c.Submit(schedtest.Spec("amy", 1, 0), 9, 0)
			c.Plan()
			amys := len(schedtest.Live(c)) - bobs
			if bobs != v.bobs || amys != v.amys {
				t.Errorf("bob has %d GPUs, amy %d, want %d and %d", bobs, amys, v.bobs, v.amys)
			}
		})
	}
}
