package sched

import (
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
)

// shortage returns what of a gang's GPUs there is too little of, even before anything is placed.
func (p *pool) shortage(w *want) (out []blocker.Blocker) {
	note := func(c blocker.Code, have uint32) {
		out = append(out, blocker.Blocker{
			Code: c, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(have),
			Asked: blocker.Asked{Model: w.model, Found: blocker.SeveralModels(p.state, w.model), MemoryMB: w.memory, Where: w.sites.text(), Least: int64(w.least), Private: w.sites.private()},
		})
	}
	free, best := p.suiting(w)
	anyType, anySize, anyNode, anyUser := *w, *w, *w, *w
	anyType.model, anySize.memory = "", 0
	var says, private bool
	anyNode.sites, says = w.sites.anyNode()
	anyUser.sites, private = w.sites.ofAnyUser()
	never := p.state.Nodes.Len() > 0 && !w.holds(w.sizes(listed))
	if _, fits := p.find(&anyUser); private && (fits || never && anyUser.holds(anyUser.sizes(listed))) {
		note(blocker.CodeAccounts, free)
	} else if never {
		note(blocker.CodeNever, 0)
	}
	anyGPU := *w
	anyGPU.avoid = model.RankKey{}
	if _, fits := p.find(&anyType); fits && w.model != "" {
		note(blocker.CodeGPUType, free)
	}
	if _, fits := p.find(&anySize); fits && w.memory > 0 {
		note(blocker.CodeGPUMemory, free)
	}
	if _, fits := p.find(&anyNode); fits && says {
		note(blocker.CodeConstraint, free)
	}
	if _, fits := p.find(&anyGPU); fits && w.avoid.Job > 0 {
		note(blocker.CodeAvoid, free)
	}
	if open, few := p.open(), w.few(); open < max(few.nodes, 1) {
		note(blocker.CodeNodes, open)
	}
	note(blocker.CodeGPUs, free)
	out[len(out)-1].Best = int64(best)
	return out
}

// suiting counts the free GPUs that suit, in all and on the node that has most.
func (p *pool) suiting(w *want) (all, most uint32) {
	for free := p.most(w); free > 0; free-- {
		for _, h := range p.with(free, w) {
			n := p.count(h, w)
			all += n
			most = max(most, n)
		}
	}
	return all, most
}

// open counts the nodes that take work.
func (p *pool) open() (n uint32) {
	for _, node := range p.state.Nodes.All() {
		if node.Schedulable() {
			n++
		}
	}
	return n
}
