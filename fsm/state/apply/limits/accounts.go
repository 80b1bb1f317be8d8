package limits

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// openAccount begins or ends the count of a scope's GPU time as its quota does; a quota of another period
// restarts it.
func openAccount(t *tx.Tx, was, is *model.Limit) {
	if was.Period == is.Period {
		return
	}
	a, _ := t.Accounts.Get(is.Scope)
	a.Scope, a.Began, a.Used, a.At, a.GPUs = is.Scope, 0, 0, 0, 0
	if is.GPUTime > 0 {
		use, _ := t.Usage.Get(is.Scope)
		a.At, a.GPUs = t.Clock, use.GPUs
		a.Began, _ = model.PeriodOf(t.Clock, is.Period)
	}
	tx.PutAccount(t, a)
}

// recount recomputes what draws on which guarantee, since one has changed.
func recount(t *tx.Tx, changed model.ScopeKey) {
	own, b := map[model.ScopeKey]uint32{}, tx.PoolSource(t)
	for k, s := range t.Shares.Now().All() {
		owner, _ := b.Owner(k.Project, k.User)
		own[owner] += s.GPUs
	}
	cluster := model.ScopeKey{Kind: model.ScopeCluster}
	all, _ := t.Accounts.Get(cluster)
	all.Scope, all.Own, all.Reserved, all.Borrowed = cluster, 0, 0, 0
	if a, found := t.Accounts.Get(changed); found {
		a.Own = 0
		tx.PutAccount(t, a)
	}
	for scope, l := range t.Limits.Now().All() {
		if l.Reserved == 0 {
			continue
		}
		a, _ := t.Accounts.Get(scope)
		a.Scope, a.Own = scope, own[scope]
		tx.PutAccount(t, a)
		all.Reserved += l.Reserved
		all.Borrowed += tx.Borrowed(a.Own, l.Reserved)
	}
	if all.Reserved > 0 {
		all.Own = own[cluster]
		all.Borrowed += all.Own
	}
	tx.PutAccount(t, all)
}
