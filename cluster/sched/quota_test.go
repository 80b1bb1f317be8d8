package sched_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func user(name string) model.ScopeKey { return model.ScopeKey{Kind: model.ScopeUser, Name: name} }

// adjust sets values of a limit, in pairs of a field and a value.
func (c *cluster) adjust(scope model.ScopeKey, pairs ...int64) {
	c.t.Helper()
	b := &command.AdjustLimit{Scope: scope}
	for i := 0; i < len(pairs); i += 2 {
		b.Set = append(b.Set, model.LimitValue{Of: model.LimitField(pairs[i]), Value: pairs[i+1]})
	}
	c.must(b)
}

// restrict sets a quota, a guarantee or a bound of run time at random, or lifts it.
func restrict(t *rapid.T, c *cluster, name string, n int64) {
	scope := rapid.SampledFrom([]model.ScopeKey{user(name), {Kind: model.ScopeProject, Name: "p"}}).Draw(t, "scope")
	switch rapid.IntRange(0, 7).Draw(t, "restrict") {
	case 6:
		c.adjust(model.ScopeKey{Kind: model.ScopeCluster}, int64(model.LimitUserGPUs), n)
	case 7:
		c.adjust(user(name), int64(model.LimitGPUs), rapid.SampledFrom([]int64{model.Unlimited, 0, n}).Draw(t, "own"))
	case 0:
		c.adjust(scope, int64(model.LimitGPUTime), n*5, int64(model.LimitPeriod), int64(time.Hour), int64(model.LimitOver), n%2)
	case 1:
		c.adjust(scope, int64(model.LimitRunTime), n*int64(time.Hour))
	case 2:
		c.adjust(scope, int64(model.LimitGPUTime), model.Unlimited, int64(model.LimitReserved), model.Unlimited)
	default:
		c.adjust(scope, int64(model.LimitReserved), n)
	}
}

// overQuota lists those tasks that go last since their user or project has used up a
// quota, or those that do not.
func overQuota(c *cluster, keys []model.TaskKey, late bool) (out []model.TaskKey) {
	for _, k := range keys {
		_, job := c.asks(k)
		is := false
		for _, scope := range []model.ScopeKey{user(job.Spec.User), {Kind: model.ScopeProject, Name: job.Spec.Project}} {
			q := c.s.QuotaOf(scope, c.now)
			is = is || q.Exceeded() && q.Over == model.OverLower
		}
		if is == late {
			out = append(out, k)
		}
	}
	return out
}

func TestExplainQuotas(t *testing.T) {
	hours := func(c *cluster, over model.OverQuota) {
		c.adjust(user("amy"), int64(model.LimitGPUTime), 3600, int64(model.LimitPeriod), int64(24*time.Hour), int64(model.LimitOver), int64(over))
	}
	checkExplained(t, []explained{
		{
			"a quota of GPU time", func(c *cluster) {
				hours(c, model.OverStop)
				c.submit(spec("amy", 2, 0), 2, 0)
				c.plan()
				c.now = c.now.Add(45 * time.Minute)
				c.must(&command.AdvanceClock{})
				c.submit(spec("amy", 1, 0), 1, 0)
			},
			"gpu_hours: user amy may use 1 GPU-hour in a period and has used 3: the next begins at 2023-11-15T00:00:00Z",
			"the next period begins, 2023-11-15T00:00:00Z\nthe limit of user amy is raised to 4 GPU-hours in a period",
		},
		{
			"a quota that lets jobs go last", func(c *cluster) {
				hours(c, model.OverLower)
				c.submit(spec("amy", 4, 0), 1, 0)
				c.plan()
				c.now = c.now.Add(45 * time.Minute)
				c.must(&command.AdvanceClock{})
				c.submit(spec("amy", 2, 0), 1, 0)
				c.submit(spec("bob", 3, 0), 1, 0)
			}, "", "",
		},
		{
			"the default of users", func(c *cluster) {
				c.adjust(model.ScopeKey{Kind: model.ScopeCluster}, int64(model.LimitUserGPUs), 2)
				c.submit(spec("amy", 2, 0), 1, 0)
				c.plan()
				c.submit(spec("amy", 1, 0), 1, 0)
			},
			"limit: user amy may use 2 GPUs, the default of users (gpus_per_user of the cluster), uses 2, and this needs 1",
			"the limit of user amy is raised to 3 GPUs\njob 1 ends",
		},
		{
			"a longer run time than is allowed", func(c *cluster) {
				c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.TimeLimit = 3 * time.Hour }), 1, 0)
				c.adjust(user("amy"), int64(model.LimitRunTime), int64(2*time.Hour))
			},
			"max_run_time: user amy may run a job for 2h0m0s at most, and this one's time limit is 3h0m0s",
			"the limit of user amy is raised to 3h0m0s for one job",
		},
	})
}

// Who has the default waits at it while others start; an own limit, greater or smaller,
// counts instead. Searches and passes in order keep to it alike.
func TestDefaultOfUsers(t *testing.T) {
	for _, policy := range []string{"fcfs", queue.DefaultPolicy} {
		c := newCluster(t, policy)
		c.node("n1", 8, "H200")
		c.adjust(model.ScopeKey{Kind: model.ScopeCluster}, int64(model.LimitUserGPUs), 2)
		c.adjust(user("bob"), int64(model.LimitGPUs), 3)
		c.adjust(user("cay"), int64(model.LimitGPUs), 1)
		got := map[string]int{}
		for _, name := range []string{"amy", "bob", "cay"} {
			for range 4 {
				c.submit(spec(name, 1, 0), 1, 0)
			}
		}
		for _, k := range c.plan() {
			job, _ := c.s.Jobs.Get(k.Job)
			got[job.Spec.User]++
		}
		if got["amy"] != 2 || got["bob"] != 3 || got["cay"] != 1 {
			t.Errorf("%s: started are %v", policy, got)
		}
		c.adjust(model.ScopeKey{Kind: model.ScopeCluster}, int64(model.LimitUserGPUs), model.Unlimited)
		if placed := c.plan(); len(placed) != 2 {
			t.Errorf("%s: once it is lifted %v start", policy, placed)
		}
	}
}

// Where a search finds a quota in the way, and no other job goes first, the quota is the only reason named.
func TestASearchNamesTheQuotaAlone(t *testing.T) {
	c := newCluster(t, queue.DefaultPolicy)
	c.tune(func(t *model.Tuning) { t.Backfill = model.BackfillReserve })
	c.node("n1", 4, "H200")
	c.limit("amy", 1, model.Unlimited)
	c.submit(spec("amy", 2, 0), 1, 0)
	e, _ := explain.Task(&c.s, c.now, model.TaskKey{Job: 1})
	if got, _ := said(&e); got != "limit: user amy may use 1 GPU, uses 0, and this needs 2: it never starts unless that is raised, or it takes fewer (--min-gpus 1)" {
		t.Errorf("it is said: %s", got)
	}
}

// own has amy own GPUs, and half of the others be kept under hybrid.
func own(c *cluster, mode model.PoolMode, gpus int64) {
	c.must(&command.SetPools{Mode: mode, Part: 500})
	c.adjust(user("amy"), int64(model.LimitReserved), gpus)
}

func TestExplainPools(t *testing.T) {
	checkExplained(t, []explained{
		{
			"dynamic", func(c *cluster) { own(c, model.PoolDynamic, 8); c.submit(spec("bob", 4, 0), 2, 0) }, "", "",
		},
		{
			"static, beyond what is owned", func(c *cluster) {
				own(c, model.PoolStatic, 3)
				c.submit(spec("amy", 2, 0), 1, 0)
				c.plan()
				c.submit(spec("amy", 2, 0), 1, 0)
			},
			"pool: user amy owns 3 GPUs, uses 2, and this needs 2: allocation is static",
			"the limit of user amy is raised to 4 GPUs of its own\nallocation is set to dynamic, under which everybody may use every GPU\njob 1 ends",
		},
		{
			"static, what others own", func(c *cluster) {
				own(c, model.PoolStatic, 7)
				c.submit(spec("bob", 2, 0), 1, 0)
			},
			"pool: who owns no GPUs may use 1 GPU, 0 are used, and this needs 2: the others are kept for their owners",
			"allocation is set to dynamic, under which everybody may use every GPU\n1 node more, with 2 GPUs free",
		},
		{
			"static, of what is in service", func(c *cluster) {
				own(c, model.PoolStatic, 3)
				c.must(&command.SetNodeMode{Node: "n2", Mode: model.ModeCordoned})
				c.submit(spec("bob", 2, 0), 1, 0)
			},
			"pool: who owns no GPUs may use 1 GPU, 0 are used, and this needs 2: the others are kept for their owners",
			"allocation is set to dynamic, under which everybody may use every GPU\n1 node more, with 2 GPUs free",
		},
	})
}

func TestExplainHybridPools(t *testing.T) {
	checkExplained(t, []explained{
		{
			"hybrid, within the guarantee", func(c *cluster) {
				own(c, model.PoolHybrid, 4)
				c.submit(spec("bob", 2, 0), 2, 0)
				c.plan()
				c.submit(spec("amy", 4, 0), 1, 0)
			}, "", "",
		},
		{
			"hybrid, what is kept", func(c *cluster) {
				own(c, model.PoolHybrid, 6)
				c.submit(spec("bob", 2, 0), 2, 0)
				c.plan()
				c.submit(spec("eve", 1, 0), 1, 0)
			},
			"pool: 4 GPUs may be used beyond guarantees, 4 are, and this needs 1: the others are kept for their owners",
			"allocation is set to dynamic, under which everybody may use every GPU\n1 node more, with 1 GPU free\n" +
				"job 1 ends\njob 1.1 ends",
		},
		{
			"hybrid, what an owner borrows", func(c *cluster) {
				own(c, model.PoolHybrid, 6)
				c.submit(spec("bob", 3, 0), 1, 0)
				c.plan()
				c.submit(spec("amy", 8, 0), 1, 0)
			},
			"pool: 4 GPUs may be used beyond guarantees, 3 are, and this needs 2: the others are kept for their owners\n" +
				"gpus: it needs 8 GPUs: 5 are free, at most 4 on one node",
			"1 node more, with 3 GPUs free\njob 1 ends",
		},
	})
}

// Jobs over a quota go after all that are within theirs, under every policy; no job
// that may start waits for them.
func TestOverQuotaGoesLast(t *testing.T) {
	for _, policy := range queue.Policies() {
		t.Run(policy, func(t *testing.T) {
			c := newCluster(t, policy)
			c.tune(func(t *model.Tuning) { t.Backfill = model.BackfillReserve })
			c.node("n1", 4, "H200")
			c.adjust(user("amy"), int64(model.LimitGPUTime), 3600, int64(model.LimitPeriod), int64(24*time.Hour),
				int64(model.LimitOver), int64(model.OverLower))
			c.submit(spec("amy", 4, 0, class(model.ClassCritical)), 1, 0)
			c.plan()
			c.now = c.now.Add(30 * time.Minute)
			c.must(&command.AdvanceClock{})
			c.submit(spec("amy", 4, 0, class(model.ClassCritical)), 1, 0) // a gang, the older and of the higher class
			c.now = c.now.Add(15 * time.Minute)
			c.must(&command.AdvanceClock{})
			c.end(model.TaskKey{Job: 1}, 0)
			c.submit(spec("amy", 1, 0, class(model.ClassCritical)), 1, 0)
			c.submit(spec("bob", 1, 0, class(model.ClassLow)), 1, 0)
			var order []model.JobID
			for e := range queue.Order(&c.s, c.now, 0) {
				order = append(order, e.Task.Job)
			}
			if order[0] != 4 {
				t.Errorf("the order is %v", order)
			}
			if placed := jobs(c.plan()); !slices.Contains(placed, 4) || slices.Contains(placed, 2) {
				t.Errorf("placed are %v", placed)
			}
		})
	}
}

// A pass that a quota keeps something from is made again when the next period begins.
func TestThePlanWakesForTheNextPeriod(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 4, "H200")
	c.adjust(user("amy"), int64(model.LimitGPUTime), 60, int64(model.LimitPeriod), int64(time.Hour))
	c.submit(spec("amy", 2, 0), 2, 0)
	c.plan()
	c.submit(spec("amy", 1, 0), 1, 0)
	for live := live(c); len(live) > 0; live = live[1:] {
		c.now = c.now.Add(15 * time.Minute)
		c.must(&command.AdvanceClock{})
		c.end(live[0], 0)
	}
	if placed := c.plan(); len(placed) > 0 {
		t.Fatalf("%v start over the quota", placed)
	}
	_, next := sched.Plan(&c.s, c.now)
	if _, request := model.PeriodOf(c.now, time.Hour); next != request {
		t.Fatalf("the next plan is due at %s, want %s", next.Time(), request.Time())
	}
	c.now = next
	c.must(&command.AdvanceClock{})
	if placed := jobs(c.plan()); !slices.Equal(placed, []model.JobID{2}) {
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
			c := newCluster(t, queue.DefaultPolicy)
			c.tune(func(t *model.Tuning) { t.Backfill = model.BackfillReserve })
			c.node("n1", 8, "H200")
			c.must(&command.SetPools{Mode: v.mode, Part: 250})
			c.adjust(user("amy"), int64(model.LimitReserved), 3)
			c.submit(spec("bob", 1, 0), 9, 0)
			c.plan()
			bobs := len(live(c))
			c.submit(spec("amy", 1, 0), 9, 0)
			c.plan()
			amys := len(live(c)) - bobs
			if bobs != v.bobs || amys != v.amys {
				t.Errorf("bob has %d GPUs, amy %d, want %d and %d", bobs, amys, v.bobs, v.amys)
			}
		})
	}
}
