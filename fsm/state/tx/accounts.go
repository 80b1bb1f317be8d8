package tx

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// PoolSource returns where limits, guarantees and accounts are looked up within the entry.
func PoolSource(t *Tx) state.PoolSource {
	return state.PoolSource{Pools: t.Settings.Pools, GPUs: t.fit, Limit: t.Limits.Get, Account: t.Accounts.Get}
}

// draw counts GPUs that work begins or ceases to hold in the accounts of its scopes.
func draw(t *Tx, project, user string, by int32) {
	for _, scope := range state.ScopesOf(project, user) {
		if a, found := t.Accounts.Get(scope); found && a.Began > 0 {
			l, _ := t.Limits.Get(scope)
			a.Hold(a.GPUs+uint32(by), t.Clock, l.Period) // wrap-around subtracts
			t.Accounts.Put(a)
		}
	}
	cluster := model.ScopeKey{Kind: model.ScopeCluster}
	all, _ := t.Accounts.Get(cluster)
	if all.Reserved == 0 {
		return
	}
	b := PoolSource(t)
	owner, reserved := b.Owner(project, user)
	if owner == cluster {
		all.Own += uint32(by)      // wrap-around subtracts
		all.Borrowed += uint32(by) // wrap-around subtracts
		t.Accounts.Put(all)
		return
	}
	a, _ := t.Accounts.Get(owner)
	was := Borrowed(a.Own, reserved)
	a.Scope, a.Own = owner, a.Own+uint32(by) // wrap-around subtracts
	PutAccount(t, a)
	all.Borrowed += Borrowed(a.Own, reserved) - was
	t.Accounts.Put(all)
}

// Borrowed returns how many of an owner's GPUs are beyond its guarantee.
func Borrowed(own uint32, reserved int64) uint32 {
	return uint32(max(int64(own)-reserved, 0))
}

// PutAccount puts an account, or deletes one that counts nothing.
func PutAccount(t *Tx, a model.Account) {
	if a.Empty() {
		t.Accounts.Delete(a.Scope)
	} else {
		t.Accounts.Put(a)
	}
}

// account counts GPUs that a user begins or ceases to hold, and updates the user's use.
func account(t *Tx, project, user string, by int32) {
	key := model.ShareKey{Project: project, User: user}
	s, found := t.Shares.Get(key)
	if !found && t.Shares.Size() >= state.MaxShares {
		forgetShare(t)
	}
	s.Key = key
	s = s.Aged(t.Clock, max(t.Settings.Tuning.HalfLife, time.Hour))
	s.At = t.Clock
	s.GPUs += uint32(by) // wrap-around subtracts
	t.Shares.Put(s)
}

// forgetShare makes room: it removes the first user without GPUs.
func forgetShare(t *Tx) {
	for k, s := range t.Shares.Now().All() {
		if s.GPUs == 0 {
			t.Shares.Delete(k)
			return
		}
	}
}

// Expect returns the expected run time of a task with a spec that has executed for some time; see [state.Expect].
func Expect(t *Tx, spec *model.Spec, executed time.Duration) time.Duration {
	past, _ := t.Sketches.Get(state.PastKey(spec))
	return state.Expect(spec, &past, executed)
}

// countBytes keeps the sums of Job.Bytes.
func countBytes(t *Tx, old, next *model.Job) {
	if t.Restoring {
		return
	}
	bytes := func(j *model.Job, ended bool) uint64 {
		if j == nil || (j.EndIndex > 0) != ended {
			return 0
		}
		return uint64(j.Bytes)
	}
	t.Settings.EndedBytes += bytes(next, true) - bytes(old, true) // wrap-around subtracts
	if was, is := bytes(old, false), bytes(next, false); was != is {
		job := next
		if job == nil {
			job = old
		}
		use(t, &job.Spec, func(u *model.Usage) { u.Bytes += is - was })
	}
}
