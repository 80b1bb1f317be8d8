package state

import (
	"fmt"

	"github.com/berth-gpu/berth/fsm/model"
)

// PoolSource is where limits, guarantees and accounts are looked up: a state, or a transaction.
type PoolSource struct {
	Pools   model.Pools
	GPUs    int64 // of the cluster that are fit for work
	Limit   func(model.ScopeKey) (model.Limit, bool)
	Account func(model.ScopeKey) (model.Account, bool)
}

func (s *State) books() PoolSource {
	return PoolSource{Pools: s.Settings().Pools, GPUs: s.FitGPUs, Limit: s.Limits.Get, Account: s.Accounts.Get}
}

// Owner returns the owner of the guarantee on which the work of a user within a project draws: the project if
// it owns GPUs, otherwise the user; the cluster stands for none.
func (b *PoolSource) Owner(project, user string) (scope model.ScopeKey, reserved int64) {
	if project != "" {
		scope = model.ScopeKey{Kind: model.ScopeProject, Name: project}
		if l, _ := b.Limit(scope); l.Reserved > 0 {
			return scope, l.Reserved
		}
	}
	scope = model.ScopeKey{Kind: model.ScopeUser, Name: user}
	if l, _ := b.Limit(scope); l.Reserved > 0 {
		return scope, l.Reserved
	}
	return model.ScopeKey{Kind: model.ScopeCluster}, 0
}

// Pool is where the work of a user within a project draws its GPUs from, and what bounds it there.
type Pool struct {
	Mode     model.PoolMode
	Owner    model.ScopeKey // the owner of the guarantee that it draws on; the cluster: none
	Reserved int64          // the guarantee: GPUs that Owner owns
	Own      int64          // GPUs held by what draws on the same
	Open     int64          // GPUs that may be held beyond guarantees, in total
	Borrowed int64          // those that are
	Owned    int64          // all guarantees together; 0: there are none, and nothing is bounded
}

// PoolOf returns the pool of a user's work within a project; the project may be empty.
func (s *State) PoolOf(project, user string) Pool {
	b := s.books()
	return b.Pool(project, user)
}

// Pool returns the pool of a user's work within a project; the project may be empty.
func (b *PoolSource) Pool(project, user string) Pool {
	all, _ := b.Account(model.ScopeKey{Kind: model.ScopeCluster})
	p := Pool{Mode: b.Pools.Mode, Owned: all.Reserved, Borrowed: int64(all.Borrowed)}
	p.Open = max(b.GPUs-b.Pools.Kept(b.GPUs, all.Reserved), 0)
	p.Owner, p.Reserved = b.Owner(project, user)
	own, _ := b.Account(p.Owner)
	p.Own = int64(own.Own)
	return p
}

// Bounds returns which limit so many GPUs more are under, how much of it is used and how much they need of
// it: nothing as long as they are within a guarantee. The limit is Unlimited where there is none.
func (p *Pool) Bounds(gpus int64) (limit, used, need int64) {
	nobodys := p.Owner.Kind == model.ScopeCluster
	switch {
	case p.Owned == 0:
	case p.Mode == model.PoolStatic && nobodys:
		return p.Open, p.Own, gpus
	case p.Mode == model.PoolStatic:
		return p.Reserved, p.Own, gpus
	case p.Mode == model.PoolHybrid:
		return p.Open, p.Borrowed, p.Beyond(gpus)
	}
	return model.Unlimited, 0, 0
}

// Beyond returns how many of so many GPUs more would be held beyond the guarantee.
func (p *Pool) Beyond(gpus int64) int64 { return max(p.Own+gpus-max(p.Reserved, p.Own), 0) }

// Refusal returns in words why so many GPUs more are not available, and the remedy.
func (p *Pool) Refusal(gpus int64) string {
	limit, used, need := p.Bounds(gpus)
	nobodys := p.Owner.Kind == model.ScopeCluster
	switch {
	case p.Mode == model.PoolStatic && !nobodys:
		return fmt.Sprintf("%s owns %d GPUs and uses %d, and this needs %d: allocation is static, so wait until some are given back, "+
			"or have reserved_gpus raised", p.Owner, limit, used, need)
	case p.Mode == model.PoolStatic:
		return fmt.Sprintf("work without a guarantee may use %d GPUs, uses %d, and this needs %d: the other %d are owned and allocation "+
			"is static, so wait until some are given back, or work for an owner", limit, used, need, p.Owned)
	}
	return fmt.Sprintf("%d GPUs may be used beyond guarantees, %d are, and this needs %d: allocation is hybrid and keeps the others "+
		"for their owners, so wait until some are given back, or have reserved_gpus raised", limit, used, need)
}

// Within reports whether so many GPUs more are within the guarantee that the work of a user
// within a project draws on: they belong to its owner.
func (s *State) Within(project, user string, gpus uint32) bool {
	p := s.PoolOf(project, user)
	return p.Reserved > 0 && p.Beyond(int64(gpus)) == 0
}
