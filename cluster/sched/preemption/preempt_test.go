package preemption_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Whoever preempts has the right to: the class of all victims is below theirs, or what
// these hold is borrowed and they would stay within what they own; and no victim has
// been stopped for others more often than its run time has earned.
// They stop no more than they need, and start as soon as the victims are gone.
func TestPreemptionsAreByRight(t *testing.T) {
	seen := 0
	schedtest.CheckUntil(t, func() bool { return seen > 0 }, func(t *rapid.T) {
		c, nodes := schedtest.RandomTuned(t)
		budget := rapid.Uint32Range(0, 2).Draw(t, "budget") // few are stopped for others more often
		c.Tune(func(t *model.Tuning) { t.NoPreemption, t.Budget = false, budget })
		c.Submit(schedtest.Spec("amy", 1, 0, schedtest.Class(model.ClassLow)), 20, 0) // as many as there can be GPUs
		for _, key := range c.Plan() {
			c.Begin(key)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			schedtest.Step(t, c, nodes)
			bodies, _ := c.Decide()
			for _, b := range bodies {
				if p, is := b.(*command.Preempt); is {
					seen++
					checkRight(t, c, p)
					checkNeeded(t, c, p)
					checkStarts(t, c.Copied(), bodies, p)
				}
			}
			for _, key := range c.Plan() {
				c.Begin(key)
			}
		}
	})
	if seen == 0 {
		t.Error("no job was preempted: the test has shown nothing")
	}
}

// borrowing returns the live attempts whose owners hold more than they own, and those that draw on no guarantee:
// GPUs that owners within their guarantees may reclaim. Without owners nothing is borrowed.
func borrowing(s *state.State) (out []model.AttemptKey) {
	if all, _ := s.Accounts.Get(model.ScopeKey{Kind: model.ScopeCluster}); all.Reserved == 0 {
		return nil
	}
	for key := range s.LiveTasks.All() {
		job, _ := s.Jobs.Get(key.Job)
		task, _ := s.Tasks.Get(key)
		if p := s.PoolOf(job.Spec.Project, job.Spec.User); p.Own > p.Reserved {
			out = append(out, task.Newest())
		}
	}
	return out
}

func checkRight(t *rapid.T, c *schedtest.Cluster, p *command.Preempt) {
	tuning := c.State.Settings().Tuning
	who, asks := c.Asks(p.Beneficiary)
	owns := c.State.Within(asks.Spec.Project, asks.Spec.User, asks.Spec.Least())
	if tuning.NoPreemption || tuning.Preempt == model.PreemptsNobody || who.Class < model.ClassHigh && !owns {
		t.Fatalf("%+v, though no job may", p)
	}
	lent := borrowing(&c.State)
	for _, v := range p.Victims {
		task, _ := c.State.Tasks.Get(v.TaskKey())
		job, _ := c.State.Jobs.Get(v.Job)
		back := owns && slices.Contains(lent, v) && task.Class <= who.Class
		if !back && (who.Class < model.ClassHigh || task.Class >= who.Class) ||
			tuning.Preempt == model.PreemptsYielding && !job.Spec.Preemptible {
			t.Fatalf("task %s of class %s is preempted for class %s", v.TaskKey(), task.Class, who.Class)
		}
		a, _ := c.State.Attempts.Get(v)
		had := task.Executed + c.Now.Sub(a.Started)
		if int(task.Preempted) >= int(tuning.Budget)+int(had/tuning.BudgetEvery) {
			t.Fatalf("task %s is stopped for others for the %d. time after %s", v.TaskKey(), task.Preempted+1, had)
		}
	}
}

// checkNeeded: exactly what the task asks for is kept, and of every victim something.
func checkNeeded(t *rapid.T, c *schedtest.Cluster, p *command.Preempt) {
	different := slices.Clone(p.Slots)
	slices.SortFunc(different, model.SlotKey.Compare)
	if different = slices.Compact(different); len(different) != len(p.Slots) {
		t.Fatalf("GPUs are named twice: %v", p.Slots)
	}
	_, job := c.Asks(p.Beneficiary)
	if gpus := uint32(len(p.Slots)); gpus < job.Spec.Least() || gpus > job.Spec.GPUs || job.Spec.Nodes <= 1 && gpus != job.Spec.Least() {
		t.Fatalf("%d GPUs are kept for a task that asks for %d", len(p.Slots), job.Spec.Least())
	}
	for _, v := range p.Victims {
		var has []model.SlotKey
		for _, r := range c.State.RanksOf(v) {
			has = append(has, c.State.SlotsOf(r.Key)...)
		}
		if !slices.ContainsFunc(p.Slots, func(k model.SlotKey) bool { return slices.Contains(has, k) }) {
			t.Fatalf("attempt %s is stopped for nothing", v)
		}
	}
}

// checkStarts: once those whose GPUs are kept are gone, the task is placed.
func checkStarts(t *rapid.T, c *schedtest.Cluster, plan []command.Body, p *command.Preempt) {
	c.Must(plan...)
	for _, key := range p.Slots {
		switch slot, _ := c.State.Slots.Get(key); slot.Owner {
		case model.OwnerAttempt:
			c.End(slot.Rank.Attempt().TaskKey(), 0)
		case model.OwnerCleaning:
			node, _ := c.State.Nodes.Get(slot.Node)
			c.Must(&command.Report{
				Node: slot.Node, Incarnation: model.Incarnation{1}, Epoch: node.Epoch,
				Cleaned: []model.Cleaned{{Slot: key, Rank: slot.Rank, Allocation: slot.Allocation}},
			})
		case model.OwnerNone, model.OwnerAllocation, model.OwnerForeign:
		}
	}
	if placed := c.Plan(); !slices.Contains(placed, p.Beneficiary) {
		t.Fatalf("%+v: the GPUs are free, and still task %s is not placed (but %v)", p, p.Beneficiary, placed)
	}
}

// The GPU of a rank that has ended is kept for a critical job while the other ranks of
// its gang run on: it is no part of the gang's place any more.
func TestWhatAnEndedRankLeavesIsKept(t *testing.T) {
	c := schedtest.New(t, model.DefaultPolicy)
	c.Tune(func(t *model.Tuning) { *t = model.DefaultTuning() })
	c.Node("n1", 1, "H200")
	c.Node("n2", 1, "H200")
	c.Submit(schedtest.Spec("amy", 2, 2), 1, 0)
	c.Plan()
	c.Begin(model.TaskKey{Job: 1})
	ended := model.RankKey{Job: 1, N: 1}
	c.Must(&command.Report{
		Node: "n1", Incarnation: model.Incarnation{1}, Epoch: 1,
		Reports: []model.Progress{{Rank: ended, Phase: model.RankExited}},
	})
	c.Submit(schedtest.Spec("zoe", 1, 0, schedtest.Class(model.ClassCritical)), 1, 0)
	c.Plan()
	if claim, kept := c.State.Claims.Get(model.SlotKey{GPU: "n1-g0"}); !kept || claim.Beneficiary.Job != 2 {
		t.Fatalf("the GPU that becomes free is kept for %+v", claim.Beneficiary)
	}
	if placed := c.Plan(); len(placed) > 0 {
		t.Errorf("placed %v on a GPU that is not clean", placed)
	}
	c.Must(&command.Report{
		Node: "n1", Incarnation: model.Incarnation{1}, Epoch: 1,
		Cleaned: []model.Cleaned{{Slot: model.SlotKey{GPU: "n1-g0"}, Rank: ended}},
	})
	if placed := schedtest.Jobs(c.Plan()); !slices.Equal(placed, []model.JobID{2}) {
		t.Errorf("placed %v, not job 2", placed)
	}
}

// A GPU that an ended rank leaves is one GPU, whether its gang runs on or is being
// stopped: it is counted once among those that become free.
func TestWhatAnEndedRankLeavesIsCountedOnce(t *testing.T) {
	for name, stopped := range map[string]bool{"its gang runs": false, "its gang is stopped": true} {
		t.Run(name, func(t *testing.T) {
			c := schedtest.New(t, "fcfs")
			c.Tune(func(t *model.Tuning) { *t = model.DefaultTuning() })
			c.Node("n1", 2, "H200")
			c.Node("n2", 1, "H200")
			c.Submit(schedtest.Spec("amy", 2, 2), 1, 0)                                  // on both nodes
			c.Submit(schedtest.Spec("bob", 1, 0, schedtest.Class(model.ClassLow)), 1, 0) // the other GPU of n1
			for _, key := range c.Plan() {
				c.Begin(key)
			}
			c.Now = c.Now.Add(time.Hour)
			c.Must(&command.AdvanceClock{}, &command.Report{
				Node: "n1", Incarnation: model.Incarnation{1}, Epoch: 1,
				Reports: []model.Progress{{Rank: firstOn(c, "n1", 1), Phase: model.RankExited}},
			})
			if stopped {
				c.Must(&command.Cancel{Job: 1, Task: model.AllTasks})
			}
			c.Submit(schedtest.Spec("zoe", 2, 1, schedtest.Class(model.ClassCritical)), 1, 0)
			bodies, _ := c.Decide()
			for _, b := range bodies {
				if p, is := b.(*command.Preempt); is && len(p.Slots) == 2 && p.Slots[0] != p.Slots[1] && len(p.Victims) == 1 && p.Victims[0].Job == 2 {
					return
				}
			}
			t.Errorf("the plan is %+v, not to stop job 2 and keep both GPUs of n1", bodies)
		})
	}
}

// firstOn is the rank of a job's first attempt on a node.
func firstOn(c *schedtest.Cluster, node model.NodeID, job model.JobID) model.RankKey {
	for _, r := range c.State.RanksOf(model.AttemptKey{Job: job, N: 1}) {
		if r.Node == node {
			return r.Key
		}
	}
	return model.RankKey{}
}

// Who waits for GPUs of others that may not be stopped yet is not left waiting until something else
// happens: the next plan is made when they may be.
func TestPlansWhenOthersMayBeStopped(t *testing.T) {
	for what, tune := range map[string]func(*model.Tuning){
		"preempted": func(t *model.Tuning) { t.Preempt, t.PreemptMinRun = model.PreemptsLower, 5*time.Minute },
		"suspended": func(t *model.Tuning) { t.Preempt, t.MinRun = model.PreemptsNobody, 5*time.Minute },
	} {
		c := schedtest.New(t, "priority")
		c.Node("n1", 2, "A")
		c.Tune(func(t *model.Tuning) { t.NoPreemption, t.Budget = false, 2 })
		c.Tune(tune)
		for _, of := range []model.Class{model.ClassLow, model.ClassCritical} {
			c.Submit(schedtest.Spec("amy", 1, 0, schedtest.Class(of), func(s *model.Spec) { s.Preemptible = what == "suspended" }), 1, 0)
		}
		for _, key := range c.Plan() {
			c.Begin(key)
		}
		c.Now = c.Now.Add(time.Minute)
		c.Submit(schedtest.Spec("bob", 1, 0, schedtest.Class(model.ClassHigh)), 1, 0)
		bodies, next := c.Decide()
		if len(bodies) > 0 || next.Sub(c.Now) != 4*time.Minute {
			t.Fatalf("%s: %d commands, and the next plan after %s", what, len(bodies), next.Sub(c.Now))
		}
		c.Now = next
		if bodies, _ := c.Decide(); len(bodies) != 1 {
			t.Fatalf("%s: then %d commands", what, len(bodies))
		}
	}
}
