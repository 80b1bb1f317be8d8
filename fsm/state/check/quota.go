package check

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// checkAccounts: they are those that limits require, and count the held GPUs.
func checkAccounts(c *checker) {
	want := table.Table[model.ScopeKey, model.Account]{}.Fork()
	cluster := model.ScopeKey{Kind: model.ScopeCluster}
	var all model.Account
	for scope, l := range c.s.Limits.All() {
		c.hold(l.Validate() == nil, References, "the limit %+v is not allowed: %v", l, l.Validate())
		a, _ := c.s.Accounts.Get(scope)
		use, _ := c.s.Usage.Get(scope)
		c.hold((l.GPUTime > 0) == (a.Began > 0), TotalsAgree, "the quota of %s is %d s, its account %+v", scope, l.GPUTime, a)
		c.hold(a.Began == 0 || a.GPUs == use.GPUs && a.Used >= 0 && a.At <= c.s.Settings().Clock, TotalsAgree,
			"%s holds %d GPUs, its account counts %+v", scope, use.GPUs, a)
		want.Put(scope, model.Account{Scope: scope, Began: a.Began, Used: a.Used, At: a.At, GPUs: a.GPUs})
		all.Reserved += l.Reserved
	}
	if all.Reserved > 0 {
		for k, share := range c.s.Shares.All() {
			owner := c.s.PoolOf(k.Project, k.User).Owner
			a, _ := want.Get(owner)
			a.Scope, a.Own = owner, a.Own+share.GPUs
			want.Put(owner, a)
		}
		for scope, a := range want.Table().All() {
			l, _ := c.s.Limits.Get(scope)
			all.Borrowed += uint32(max(int64(a.Own)-l.Reserved, 0))
		}
	}
	a, _ := want.Get(cluster)
	a.Scope, a.Reserved, a.Borrowed = cluster, all.Reserved, all.Borrowed
	want.Put(cluster, a)
	kept := table.Table[model.ScopeKey, model.Account]{}.Fork()
	for scope, a := range want.Table().All() {
		if !a.Empty() {
			kept.Put(scope, a)
		}
	}
	same(c, TotalsAgree, "the account of", c.s.Accounts, kept.Table())
}

// moveAccounts: only time adds to the use of a period; where a quota is used up or more is held beyond
// guarantees than allowed, no command has added to it.
func moveAccounts(m *mover) {
	now := m.s.Settings().Clock
	started := map[model.ScopeKey]model.AttemptKey{}
	for k, d := range table.Diffs(m.was.Attempts, m.s.Attempts) {
		if job, _ := m.s.Jobs.Get(k.Job); !d.Was {
			for _, scope := range state.ScopesOf(job.Spec.Project, job.Spec.User) {
				if job.Spec.GPUs > 0 {
					started[scope] = k
				}
			}
			moveTime(m, k, &d.After, &job)
		}
	}
	for scope, is := range m.s.Limits.All() {
		was, _ := m.was.Limits.Get(scope)
		if was != is || is.GPUTime == 0 {
			continue
		}
		before, after := m.was.QuotaOf(scope, now), m.s.QuotaOf(scope, now)
		m.hold(before.Used == after.Used || !m.one, WithinLimits, "%s has used %d GPU-ms by now, then %d", scope, before.Used, after.Used)
		a, starts := started[scope]
		m.hold(!starts || !before.Stops(), WithinLimits, "%s has used %d of %d GPU-ms, and attempt %s starts", scope, before.Used,
			before.Limit, a)
	}
	movePools(m)
}

// moveTime: a new attempt has no more time than its scopes allow.
func moveTime(m *mover, k model.AttemptKey, a *model.Attempt, job *model.Job) {
	for _, scope := range state.ScopesOf(job.Spec.Project, job.Spec.User) {
		was, had := m.was.Limits.Get(scope)
		is, _ := m.s.Limits.Get(scope)
		if had && was == is && is.RunTime > 0 {
			m.hold(a.Frozen.TimeLimit > 0 && a.Frozen.TimeLimit <= is.RunTime, WithinLimits, "%s may run %s, attempt %s may run %s", scope,
				is.RunTime, k, a.Frozen.TimeLimit)
		}
	}
}

// movePools: as long as guarantees stay the same, no scope takes more beyond its own than is left for that.
func movePools(m *mover) {
	pools, gpus := m.s.Settings().Pools, m.s.FitGPUs
	cluster := model.ScopeKey{Kind: model.ScopeCluster}
	all, _ := m.s.Accounts.Get(cluster)
	before, _ := m.was.Accounts.Get(cluster)
	changed := false
	for range table.Diffs(m.was.Limits, m.s.Limits) {
		changed = true
	}
	if changed || pools != m.was.Settings().Pools || gpus != m.was.FitGPUs || all.Reserved == 0 || all.Reserved != before.Reserved {
		return
	}
	open := max(gpus-pools.Kept(gpus, all.Reserved), 0)
	switch pools.Mode {
	case model.PoolHybrid:
		m.hold(int64(all.Borrowed) <= open || all.Borrowed <= before.Borrowed, WithinLimits,
			"%d GPUs may be held beyond guarantees, those that are go from %d to %d", open, before.Borrowed, all.Borrowed)
	case model.PoolStatic:
		m.hold(int64(all.Own) <= open || all.Own <= before.Own, WithinLimits,
			"%d GPUs may be held without a guarantee, those that are go from %d to %d", open, before.Own, all.Own)
		for scope, a := range m.s.Accounts.All() {
			l, _ := m.s.Limits.Get(scope)
			old, _ := m.was.Accounts.Get(scope)
			m.hold(scope == cluster || int64(a.Own) <= l.Reserved || a.Own <= old.Own, WithinLimits,
				"%s owns %d GPUs and goes from %d to %d", scope, l.Reserved, old.Own, a.Own)
		}
	case model.PoolDefault, model.PoolDynamic:
	}
}

// moveRooms: where jobs without GPUs hold more of a node than they may, no command has added to it.
func moveRooms(m *mover) {
	for id, d := range table.Diffs(m.was.NodeUse, m.s.NodeUse) {
		if !d.Is {
			continue
		}
		was, _ := m.was.Nodes.Get(id)
		is, _ := m.s.Nodes.Get(id)
		before, had := m.was.CPURoom(&was)
		room, held := m.s.CPURoom(&is)
		m.hold(held.CPUs <= max(before.CPUs, room.CPUs, had.CPUs) && held.MemoryMB <= max(before.MemoryMB, room.MemoryMB, had.MemoryMB),
			WithinLimits,
			"jobs without GPUs may hold %+v of node %s and go from %+v to %+v", room, id, had, held)
	}
}
