package apply_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A preempted victim's GPUs are claimed for the beneficiary of the preemption, until that is placed, ends, is
// held, or the claim's time is over.
func TestClaims(t *testing.T) {
	for name, v := range map[string]struct {
		do   func(l *life, to model.JobID)
		left int
	}{
		"placed":   {func(l *life, to model.JobID) { l.Place(to) }, 0},
		"canceled": {func(l *life, to model.JobID) { l.Do(cancel(to)) }, 0},
		"held":     {func(l *life, to model.JobID) { l.Do(hold(to)) }, 0},
		"early":    {func(l *life, _ model.JobID) { l.Do(&command.ExpireClaims{Slots: []model.SlotKey{{GPU: "n1-0"}}}) }, 4},
		"expired": {func(l *life, _ model.JobID) {
			l.Wait(time.Hour)
			l.Do(&command.ExpireClaims{Slots: []model.SlotKey{{GPU: "n1-0"}, {GPU: "n1-1"}}})
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := running(t, 4)
			l.Do(&command.SetNodeMode{Node: "n2", Mode: model.ModeCordoned})
			to := l.Submit(4)
			l.Do(&command.Preempt{Victims: []model.AttemptKey{l.a}, Beneficiary: model.TaskKey{Job: to}, Until: l.Now.Add(time.Minute)})
			l.Stopped(l.a)
			l.n1.Clean()
			if u, _ := l.State.NodeUse.Get("n1"); u.Claimed != 4 || u.Free != 0 {
				t.Fatalf("the node counts %+v", u)
			}
			other := model.TaskKey{Job: l.Submit(1)}
			wantCode(t, l.Try(&command.Place{Attempt: other.Attempt(1), Ranks: []command.Placement{
				{Node: "n1", Epoch: l.n1.Epoch(), Slots: []model.SlotKey{{GPU: "n1-0"}}},
			}}), model.CodeConflict)
			v.do(l, to)
			if got := l.State.Claims.Len(); got != v.left {
				t.Errorf("%d claims are left, want %d", got, v.left)
			}
		})
	}
}

// GPUs are claimed for a service as for a job: only that service gets them, and the claims are removed when
// it no longer waits.
func TestClaimsOfAService(t *testing.T) {
	for name, do := range map[string]func(l *life){
		"granted": func(l *life) {
			l.Do(&command.Grant{ID: "web", Placement: command.Placement{
				Node: "n1", Epoch: l.n1.Epoch(), Slots: []model.SlotKey{{GPU: "n1-0"}, {GPU: "n1-1"}},
			}})
		},
		"released": func(l *life) { l.Do(&command.ReleaseAllocation{ID: "web"}) },
	} {
		t.Run(name, func(t *testing.T) {
			l := running(t, 4)
			l.Do(&command.Allocate{ID: "web", Service: "web", User: "svc", Class: model.ClassCritical, GPUs: 2})
			a, _ := l.State.Allocations.Get("web")
			l.Do(&command.Preempt{Victims: []model.AttemptKey{l.a}, Beneficiary: a.Turn, Until: l.Now.Add(time.Minute)})
			l.Stopped(l.a)
			l.n1.Clean()
			other := model.TaskKey{Job: l.Submit(1)}
			wantCode(t, l.Try(&command.Place{Attempt: other.Attempt(1), Ranks: []command.Placement{
				{Node: "n1", Epoch: l.n1.Epoch(), Slots: []model.SlotKey{{GPU: "n1-0"}}},
			}}), model.CodeConflict)
			if do(l); l.State.Claims.Len() != 0 || l.State.Queue.Len() != 2 || l.State.Waiting.Len() != 0 {
				t.Errorf("%d claims are left, %d wait, %d of them services", l.State.Claims.Len(), l.State.Queue.Len(), l.State.Waiting.Len())
			}
			wantCode(t, l.Try(&command.Preempt{Beneficiary: a.Turn, Slots: []model.SlotKey{{GPU: "n1-3"}}, Until: l.Now.Add(time.Minute)}),
				model.CodeNotQueued)
		})
	}
}

// A service's turn is after the jobs that were submitted before it, and before the next.
func TestTurns(t *testing.T) {
	l := running(t, 1)
	before := l.Submit(1)
	l.Do(&command.Allocate{ID: "web", User: "svc", Class: model.ClassNormal, GPUs: 1})
	l.Do(&command.Allocate{ID: "api", User: "svc", Class: model.ClassNormal, GPUs: 1})
	after := l.Submit(1)
	web, _ := l.State.Allocations.Get("web")
	api, _ := l.State.Allocations.Get("api")
	turns := []model.TaskKey{{Job: before, Task: model.MaxIndex}, web.Turn, api.Turn, {Job: after}}
	if !slices.IsSortedFunc(turns, model.TaskKey.Compare) || !web.Turn.IsTurn() || turns[0].IsTurn() || web.Turn == api.Turn {
		t.Errorf("the turns are %v", turns)
	}
}

// A preemption names a waiting task, victims that live, and a time to come.
func TestPreemptRefusals(t *testing.T) {
	l := running(t, 4)
	to := model.TaskKey{Job: l.Submit(4)}
	ask := func(victim model.AttemptKey, to model.TaskKey, until model.Time) command.Result {
		return l.Try(&command.Preempt{Victims: []model.AttemptKey{victim}, Beneficiary: to, Until: until})
	}
	wantCode(t, ask(l.a, l.a.TaskKey(), l.Now+1), model.CodeNotQueued)
	wantCode(t, ask(l.a, to, l.Now), model.CodeInvalid)
	wantCode(t, ask(to.Attempt(1), to, l.Now+1), model.CodeNotLive)
}

// GPUs of the victims are kept, free ones, and those that will be free; no others.
func TestWhatIsKept(t *testing.T) {
	l := running(t, 2) // on the first of n1's four GPUs
	to := model.TaskKey{Job: l.Submit(2)}
	other := model.TaskKey{Job: l.Submit(2)}
	keep := func(to model.TaskKey, victims []model.AttemptKey, gpus ...model.GPUID) command.Result {
		b := &command.Preempt{Victims: victims, Beneficiary: to, Until: l.Now.Add(time.Minute)}
		for _, g := range gpus {
			b.Slots = append(b.Slots, model.SlotKey{GPU: g})
		}
		return l.Try(b)
	}
	wantCode(t, keep(to, nil, "n1-0"), model.CodeConflict)
	wantCode(t, keep(to, nil, "n1-9"), model.CodeNotFound)
	wantCode(t, keep(to, []model.AttemptKey{l.a}, "n1-0", "n1-2"), model.CodeOK)
	wantCode(t, keep(other, nil, "n1-2"), model.CodeConflict)
	wantCode(t, keep(other, nil, "n1-1"), model.CodeOK) // it is being stopped
	if got := l.State.Claims.Len(); got != 3 {
		t.Errorf("%d GPUs are kept, want 3", got)
	}
}

// No limit is exceeded by a submission or a placement, nor an array's throttle.
func TestLimits(t *testing.T) {
	alice := model.ScopeKey{Kind: model.ScopeUser, Name: "alice"}
	for name, v := range map[string]struct {
		gpus, live, queued, each int64
		submit, place            model.Code
	}{
		"gpus":     {4, -1, -1, -1, model.CodeOK, model.CodeLimit},
		"live":     {-1, 1, -1, -1, model.CodeOK, model.CodeLimit},
		"queued":   {-1, -1, 0, -1, model.CodeLimit, 0},
		"per job":  {-1, -1, -1, 1, model.CodeLimit, 0},
		"exactly":  {6, 2, 1, 2, model.CodeOK, model.CodeOK},
		"unharmed": {-1, -1, -1, 2, model.CodeOK, model.CodeOK},
	} {
		t.Run(name, func(t *testing.T) {
			l := running(t, 4)
			l.Do(&command.SetLimit{Limit: model.Limit{Scope: alice, GPUs: v.gpus, Live: v.live, Queued: v.queued, GPUsPerJob: v.each, CPUs: -1}})
			r := l.Try(statetest.Job(2))
			wantCode(t, r, v.submit)
			if r.OK() {
				wantCode(t, l.Try(l.Placement(model.TaskKey{Job: r.Job})), v.place)
			}
			l.Do(&command.SetLimit{Limit: model.Limit{Scope: alice, GPUs: -1, Live: -1, Queued: -1, GPUsPerJob: -1, CPUs: -1}})
			if l.State.Limits.Len() != 0 {
				t.Error("a limit without bounds is kept")
			}
		})
	}
	l := placed(t, 1, array(3, 1))
	wantCode(t, l.Try(l.Placement(model.TaskKey{Job: l.job, Task: 1})), model.CodeLimit)
}

// A request that comes again gets its first answer and changes nothing; the same
// id for something else, or one older than what is remembered, is refused.
func TestRequestIDs(t *testing.T) {
	l := placed(t, 1)
	first := l.Once("r1", statetest.Job(1))
	jobs := l.State.Jobs
	if again := l.Once("r1", statetest.Job(1)); again.Job != first.Job || l.State.Jobs != jobs {
		t.Errorf("again is %+v, want %+v", again, first)
	}
	wantCode(t, l.Once("r1", statetest.Job(2)), model.CodeIdempotency)
	wantCode(t, l.Once("r1", cancel(first.Job)), model.CodeIdempotency)
	wantCode(t, l.Once("r2", cancel(99)), model.CodeNotFound)
	wantCode(t, l.Once("r2", cancel(99)), model.CodeNotFound)
	wantCode(t, l.Try(&command.CutRequests{Before: l.Now + 1}), model.CodeInvalid)
	if r := l.Do(&command.CutRequests{Before: l.Now}); r.Number != 0 {
		t.Errorf("%d ids of this instant were cut", r.Number)
	}
	wantCode(t, l.Once("01800000-0000-7000-8000-000000000001", statetest.Job(1)), model.CodeRequestExpired)
	l.Wait(time.Minute)
	if r := l.Do(&command.CutRequests{Before: l.Now}); r.Number != 1 || l.State.Requests.Len() != 0 {
		t.Errorf("%d ids were cut, want 1", r.Number)
	}
}

// An allocation waits, holds GPUs of one node, and ends in cleaning, however.
func TestAllocations(t *testing.T) {
	for name, v := range map[string]struct {
		end   func(*testing.T, *life)
		state model.AllocationState
	}{
		"released": {func(_ *testing.T, l *life) { l.Do(&command.ReleaseAllocation{ID: "s"}) }, model.AllocationReleased},
		"expired": {func(_ *testing.T, l *life) {
			l.Wait(time.Hour)
			l.Do(&command.ExpireAllocations{IDs: []model.AllocationID{"s"}})
		}, model.AllocationExpired},
		"lost": {func(t *testing.T, l *life) {
			lost := &command.AllocationLost{ID: "s", Node: "n1", Epoch: l.n1.Epoch(), Seq: l.n1.Seq()}
			wantCode(t, l.Try(lost), model.CodeNotSuspect)
			l.n1.Suspect()
			l.Do(lost)
		}, model.AllocationLost},
		"rebooted": {func(_ *testing.T, l *life) { l.n1.Reboot(func(b *command.Register) { b.Devices[1].Idle = false }) }, model.AllocationLost},
	} {
		t.Run(name, func(t *testing.T) {
			l := placed(t, 1)
			ask := &command.Allocate{ID: "s", User: "alice", Class: model.ClassNormal, GPUs: 1, TTL: time.Minute}
			l.Do(ask)
			wantCode(t, l.Try(ask), model.CodeConflict)
			grant := &command.Grant{ID: "s", Placement: command.Placement{Node: "n1", Epoch: l.n1.Epoch(), Slots: []model.SlotKey{{GPU: "n1-1"}}}}
			before := l.State.DesiredIndex("n1")
			l.Do(grant)
			wantCode(t, l.Try(grant), model.CodeNotQueued)
			if d := l.State.Desired("n1"); !slices.Equal(d.Lent, []model.GPUID{"n1-1"}) || l.State.DesiredIndex("n1") == before {
				t.Errorf("the node is told that %v are lent", d.Lent)
			}
			l.Do(&command.RenewAllocation{ID: "s"})
			v.end(t, l)
			if a, _ := l.State.Allocations.Get("s"); a.State != v.state {
				t.Errorf("the allocation is %s, want %s", a.State, v.state)
			}
			if d := l.State.Desired("n1"); len(d.Lent) != 0 {
				t.Errorf("the node is still told that %v are lent", d.Lent)
			}
			if s := slot(l.Cluster, "n1-1"); s.Owner != model.OwnerCleaning {
				t.Errorf("its slot is %s", s.Owner)
			}
			wantCode(t, l.Try(&command.RenewAllocation{ID: "s"}), model.CodeTerminal)
			wantCode(t, l.Try(&command.ReleaseAllocation{ID: "x"}), model.CodeNotFound)
			l.n1.Clean()
			l.Wait(2 * time.Hour)
			l.Do(&command.ExpireAllocations{IDs: []model.AllocationID{"s"}})
			if l.State.Allocations.Len() != 0 {
				t.Error("an allocation that ended long ago is kept")
			}
		})
	}
}
