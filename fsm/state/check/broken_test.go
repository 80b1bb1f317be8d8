package check_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// running returns a cluster of two nodes of 4 GPUs where one job runs.
func running(t *testing.T, gpus uint32) (*statetest.Cluster, model.JobID) {
	t.Helper()
	c := statetest.New(t)
	c.Node("n1", 4)
	c.Node("n2", 4)
	job := c.Submit(gpus)
	c.Start(c.Place(job))
	return c, job
}

// settings breaks the settings.
func settings(change func(*model.Settings)) func(*state.State) {
	return func(s *state.State) { statetest.Put(&s.Globals, state.Only{}, change) }
}

// Check names the invariant that a hand-broken state breaks, and none for the
// state before.
func TestCheckNamesWhatIsBroken(t *testing.T) {
	job, key, a := model.JobID(1), model.TaskKey{Job: 1}, model.AttemptKey{Job: 1, N: 1}
	owned, free := model.SlotKey{GPU: "n1-0"}, model.SlotKey{GPU: "n2-3"}
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*state.State)
	}{
		"owner without a rank": {check.SingleOwner, func(s *state.State) {
			statetest.Put(&s.Slots, free, func(r *model.Slot) { r.Rank = model.RankKey{} })
		}},
		"two owners": {check.SingleOwner, func(s *state.State) {
			statetest.Put(&s.Slots, owned, func(r *model.Slot) { r.Allocation = "x" })
		}},
		"ended allocation owns": {check.SingleOwner, func(s *state.State) {
			statetest.Put(&s.Slots, free, func(r *model.Slot) { r.Owner, r.Allocation = model.OwnerAllocation, "gone" })
		}},
		"half a gang": {check.WholeGang, func(s *state.State) {
			statetest.Put(&s.Slots, owned, func(r *model.Slot) { r.Owner, r.Rank = model.OwnerNone, model.RankKey{} })
		}},
		"a counter of ranks": {check.WholeGang, func(s *state.State) { statetest.Put(&s.Attempts, a, func(r *model.Attempt) { r.Gone = 1 }) }},
		"task and attempt": {check.WholeGang, func(s *state.State) {
			statetest.Put(&s.Tasks, key, func(r *model.Task) { r.State = model.TaskAllocating })
		}},
		"a live attempt of a queued task": {check.OneAttempt, func(s *state.State) {
			statetest.Put(&s.Tasks, key, func(r *model.Task) { r.State = model.TaskQueued })
		}},
		"an ended rank owns": {check.ShownClean, func(s *state.State) {
			statetest.Put(&s.Ranks, a.Rank(0), func(r *model.Rank) { r.Phase = model.RankLost })
		}},
		"a job out of numbers": {check.NothingLost, settings(func(r *model.Settings) { r.NextJob = 1 })},
		"over its throttle": {check.WithinLimits, func(s *state.State) {
			statetest.Put(&s.Jobs, job, func(r *model.Job) { r.Throttle, r.Live = 1, 2 })
		}},
		"node counts": {check.TotalsAgree, func(s *state.State) { statetest.Put(&s.NodeUse, "n1", func(r *model.NodeUse) { r.Free++ }) }},
		"share": {check.TotalsAgree, func(s *state.State) {
			for k := range s.Shares.All() {
				statetest.Put(&s.Shares, k, func(r *model.Share) { r.GPUs++ })
				return
			}
		}},
		"usage": {check.TotalsAgree, func(s *state.State) {
			statetest.Put(&s.Usage, model.ScopeKey{Kind: model.ScopeCluster}, func(r *model.Usage) { r.GPUs++ })
		}},
		"lifetime":          {check.TotalsAgree, settings(func(r *model.Settings) { r.Totals.Submitted++ })},
		"predictions":       {check.TotalsAgree, settings(func(r *model.Settings) { r.Totals.HistoriesNear++ })},
		"defaults":          {check.References, settings(func(r *model.Settings) { r.Defaults.IdleStop = 1 })},
		"a task that is no": {check.References, func(s *state.State) { statetest.Drop(&s.Tasks, key) }},
		"a node that is no": {check.References, func(s *state.State) { statetest.Drop(&s.Nodes, "n1") }},
		"a claim for a live task": {check.References, func(s *state.State) {
			statetest.Put(&s.Claims, owned, func(r *model.Claim) { *r = model.Claim{Slot: owned, Node: "n1", Beneficiary: key} })
		}},
	} {
		t.Run(name, func(t *testing.T) { statetest.CheckNames(t, v.want, v.change) })
	}
}

// Without new indexes and sums, a broken row, index or sum is one that a snapshot
// would not bring back.
func TestCheckNamesWhatWouldNotReplay(t *testing.T) {
	for name, change := range map[string]func(*state.State){
		"row":   func(s *state.State) { statetest.Put(&s.Nodes, "n1", func(r *model.Node) { r.Version = "x" }) },
		"index": func(s *state.State) { statetest.Drop(&s.ByFree, state.FreeKey{Free: 4, Whole: true, Node: "n2"}) },
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := running(t, 4)
			s := c.State
			change(&s)
			if err := check.State(&s); !statetest.Names(err, check.SameOnReplay) {
				t.Errorf("Check says %v", err)
			}
		})
	}
}

// CheckStep names what no command may do.
func TestCheckStepNamesWhatIsBroken(t *testing.T) {
	key := model.TaskKey{Job: 1}
	owned := model.SlotKey{GPU: "n1-0"}
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*state.State)
	}{
		"attempt numbers": {check.OneAttempt, func(s *state.State) { statetest.Put(&s.Tasks, key, func(r *model.Task) { r.Attempts = 0 }) }},
		"freed unseen": {check.ShownClean, func(s *state.State) {
			statetest.Put(&s.Ranks, key.Attempt(1).Rank(0), func(r *model.Rank) { r.Phase = model.RankLost })
			statetest.Put(&s.Slots, owned, func(r *model.Slot) { r.Owner, r.Rank = model.OwnerNone, model.RankKey{} })
		}},
		"job gone":  {check.NothingLost, func(s *state.State) { statetest.Drop(&s.Jobs, 1) }},
		"job twice": {check.NothingLost, func(s *state.State) { statetest.Put(&s.Jobs, 0, func(r *model.Job) { r.ID = 0 }) }},
		"limit": {check.WithinLimits, func(s *state.State) {
			statetest.Put(&s.Usage, model.ScopeKey{Kind: model.ScopeCluster}, func(r *model.Usage) { r.GPUs = 9 })
		}},
		"totals": {check.TotalsAgree, func(s *state.State) {
			statetest.Put(&s.Globals, state.Only{}, func(r *model.Settings) { r.Totals.Attempts = 0 })
		}},
		"clock": {check.OnlyForward, func(s *state.State) { statetest.Put(&s.Globals, state.Only{}, func(r *model.Settings) { r.Clock-- }) }},
		"epoch": {check.OnlyForward, func(s *state.State) { statetest.Put(&s.Nodes, "n1", func(r *model.Node) { r.Epoch = 0 }) }},
		"audit": {check.OnlyForward, func(s *state.State) {
			statetest.Put(&s.Globals, state.Only{}, func(r *model.Settings) { r.Audit.Hash[5]++ })
		}},
		"audit ahead": {check.OnlyForward, func(s *state.State) {
			statetest.Put(&s.Globals, state.Only{}, func(r *model.Settings) { r.Audit.Seq, r.Audit.Index = r.Audit.Seq+1, s.Index+1 })
		}},
		"incarnation": {check.OnlyForward, func(s *state.State) {
			statetest.Put(&s.Globals, state.Only{}, func(r *model.Settings) { r.Incarnation[3]++ })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := running(t, 4)
			before := c.State
			statetest.Put(&before.Limits, model.ScopeKey{Kind: model.ScopeCluster}, func(r *model.Limit) {
				*r = model.Limit{Scope: model.ScopeKey{Kind: model.ScopeCluster}, GPUs: 8, Live: -1, Queued: -1, GPUsPerJob: -1}
			})
			after := before
			after.Index++
			if err := check.Step(&before, &after); err != nil {
				t.Fatalf("unbroken: %v", err)
			}
			v.change(&after)
			if err := check.Step(&before, &after); !statetest.Names(err, v.want) {
				t.Errorf("CheckStep says %v, want %q", err, v.want)
			}
		})
	}
}
