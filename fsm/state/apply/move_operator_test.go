package apply_test

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// Whatever one user or many users fill, an admin still cancels a job, drains a node, revokes and makes tokens, signs in, submits and stops
// the orchestrator, under request ids as clients send them. Each table is one that a filling fills, or that no user can fill.
func TestAnAdminWorksWhateverAUserFills(t *testing.T) {
	t.Parallel()
	all, grown, mu := fillings(), map[string]map[string]int{}, sync.Mutex{}
	t.Cleanup(func() {
		if len(grown) == len(all) { // not with -run for one of them
			checkShares(t, grown)
		}
	})
	for name, fill := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := placed(t, 1)
			l.Do(&command.FoundAuth{Token: hashOf(1)})
			l.Do(&command.MakeToken{Hash: hashOf(2), User: "root", Role: model.RoleAdmin, Spend: hashOf(1)})
			l.Do(&command.MakeToken{Hash: hashOf(3), User: "eve", Role: model.RoleUser})
			job := l.Do(statetest.Job(1)).Job
			rows := rowsOf(&l.State)
			if r := fill.with(t, l, job); r.Code != fill.last {
				t.Fatalf("the user's last try: %+v, want %s", r, fill.last)
			}
			more := rowsOf(&l.State)
			for table := range more {
				more[table] -= rows[table]
			}
			mu.Lock()
			grown[name] = more
			mu.Unlock()
			l.Actor, l.Unchecked = "user:root", fill.byHand
			for n, b := range []command.Body{
				cancel(job),
				&command.SetNodeMode{Node: "n1", Mode: model.ModeDraining, Note: "eve"},
				&command.DropTokens{Tokens: []model.Hash{hashOf(3)}},
				&command.SetRunning{},
				statetest.Job(1),
				&command.MakeToken{Hash: hashOf(4), User: "root", Role: model.RoleAdmin},
				&command.MakeToken{Hash: hashOf(5), User: "ann", Role: model.RoleUser},
				&command.MakeToken{Hash: hashOf(6), Role: model.RoleAgent, Expires: l.Now.Add(time.Hour)},
				&command.MakeSession{Hash: hashOf(7), From: hashOf(2)},
				hook("root1", everyone()),
			} {
				if r := l.Once(drawn(l.Now, n), b); !r.OK() {
					t.Errorf("the admin's %s: %+v", b.Kind(), r)
				}
			}
		})
	}
}

// fillUp has user eve send n bodies, and returns the result of the last one; those before must succeed.
func fillUp(l *life, n int, body func(n int) command.Body) (last command.Result) {
	l.Actor, l.Unchecked = "user:eve", true
	for k := range n {
		if !last.OK() {
			return last
		}
		last = l.Try(body(k))
	}
	l.Unchecked = false
	return last
}

// submission returns a job of user eve, which user eve submits.
func submission(change func(*command.Submit)) *command.Submit {
	b := statetest.Job(1)
	b.Spec.User, b.Capped = "eve", true
	change(b)
	return b
}

// filling is how user eve fills what all share.
type filling struct {
	with func(t *testing.T, l *life, job model.JobID) command.Result
	last model.Code // of the user's last try
	// byHand means that rows were put into the tables without commands, so that the digest does not fit them.
	byHand bool
}

func fillings() map[string]filling {
	low := func(job model.JobID) command.Body { return setPriority(job, model.ClassLow) }
	out := map[string]filling{
		"request ids": {func(t *testing.T, l *life, job model.JobID) command.Result {
			at := l.Now
			return spend(t, l, "user:eve", state.MaxRequestsOf+1, func(n int) string { return drawn(at, n) }, low(job))
		}, model.CodeOK, false},
		"request ids without a time": {func(t *testing.T, l *life, job model.JobID) command.Result {
			return spend(t, l, "user:eve", state.MaxRequestsOf/2+1, func(n int) string { return fmt.Sprint("eve", n) }, low(job))
		}, model.CodeRequestsFull, false},
		"request ids of next year": {func(t *testing.T, l *life, job model.JobID) command.Result {
			at := l.Now.Add(300 * 24 * time.Hour)
			return spend(t, l, "user:eve", state.MaxRequestsOf/2+1, func(n int) string { return drawn(at, n) }, low(job))
		}, model.CodeRequestsFull, false},
		"refused commands": {func(t *testing.T, l *life, _ model.JobID) command.Result {
			return spend(t, l, "user:eve", state.MaxRequestsOf+1, func(n int) string { return fmt.Sprint("eve", n) }, low(999))
		}, model.CodeNotFound, false},
		"reservations": {func(_ *testing.T, l *life, _ model.JobID) (last command.Result) {
			l.Actor, l.Unchecked = "user:eve", true
			for n := range model.MaxUserBookings + 1 {
				b := booked(l.Cluster, 1, func(b *model.Booking) {
					b.Start, b.End = l.Now.Add(time.Duration(n+1)*time.Minute), l.Now.Add(time.Duration(n+2)*time.Minute)
				})
				b.Capped = true
				last = l.Try(b)
			}
			l.Unchecked = false
			return last
		}, model.CodeLimit, false},
	}
	maps.Copy(out, moreFillings())
	maps.Copy(out, crowds())
	return out
}

func moreFillings() map[string]filling {
	return map[string]filling{
		"texts of jobs": {func(_ *testing.T, l *life, _ model.JobID) command.Result {
			return fillUp(l, state.MaxJobBytesOf/model.MaxScript+1, func(n int) command.Body {
				return submission(func(b *command.Submit) { b.Script = fmt.Sprintf("%*d", model.MaxScript, n) })
			})
		}, model.CodeLimit, false},
		"waiting tasks": {func(_ *testing.T, l *life, _ model.JobID) command.Result {
			limit := model.NoLimit(model.ScopeKey{Kind: model.ScopeCluster})
			limit.Queued = 2000
			l.Do(&command.SetLimit{Limit: limit})
			return fillUp(l, 11, func(int) command.Body { return submission(func(b *command.Submit) { b.Tasks = 100 }) })
		}, model.CodeLimit, false},
		"allocations": {func(_ *testing.T, l *life, _ model.JobID) command.Result {
			return fillUp(l, state.MaxAllocationsOf+1, func(n int) command.Body {
				return &command.Allocate{
					ID: model.AllocationID(fmt.Sprint("eve", n)), Service: "web", Workload: model.WorkloadGeneric, User: "eve", Class: model.ClassNormal,
					Priority: 5, GPUs: 1, Capped: true,
				}
			})
		}, model.CodeLimit, false},
		"webhooks": {func(_ *testing.T, l *life, _ model.JobID) command.Result {
			return fillUp(l, state.MaxWebhooksOf+1, func(n int) command.Body { return eves(n) })
		}, model.CodeLimit, false},
		"deliveries": {func(_ *testing.T, l *life, _ model.JobID) command.Result {
			return fillUp(l, 400, func(n int) command.Body {
				if n < state.MaxWebhooksOf {
					return eves(n)
				}
				return submission(func(*command.Submit) {})
			})
		}, model.CodeOK, false},
		"dependencies": {func(_ *testing.T, l *life, job model.JobID) command.Result {
			return fillUp(l, 100, func(int) command.Body {
				return submission(func(b *command.Submit) { b.After = []dependency.After{{Job: job, Kind: dependency.AfterOK}} })
			})
		}, model.CodeOK, false},
		"tokens": {func(_ *testing.T, l *life, _ model.JobID) command.Result {
			return fillUp(l, state.MaxTokensOf+1, func(n int) command.Body {
				return &command.MakeToken{Hash: model.Hash{byte(n), 2}, User: "eve", Role: model.RoleUser}
			})
		}, model.CodeLimit, false},
	}
}
