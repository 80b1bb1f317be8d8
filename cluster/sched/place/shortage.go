package place

import (
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
)

// Shortage returns what of a gang's GPUs there is too little of, even before anything is placed.
func (p *Capacity) Shortage(w *Request) (out []blocker.Blocker) {
	others, without := w.Sites.NotOpen()
	note := func(c blocker.Code, have uint32) {
		out = append(out, blocker.Blocker{
			Code: c, Need: int64(w.PerNode), Nodes: int64(w.Nodes), Have: int64(have),
			Asked: blocker.Asked{
				Model: w.Model, Found: blocker.SeveralModels(p.state, w.Model), MemoryMB: w.MemoryMB, Where: w.Sites.text(),
				Least: int64(w.Least), Private: others, Lacking: without,
			},
		})
	}
	free, best := p.suiting(w)
	anyType, anySize, anyNode, anyUser := *w, *w, *w, *w
	anyType.Model, anySize.MemoryMB = "", 0
	var says, private bool
	anyNode.Sites, says = w.Sites.anyNode()
	anyUser.Sites, private = w.Sites.ofAnyUser()
	never := p.state.Nodes.Len() > 0 && !w.holds(w.sizes(listed))
	if _, fits := p.Find(&anyUser); private && (fits || never && anyUser.holds(anyUser.sizes(listed))) {
		note(blocker.CodeAccounts, free)
	} else if never {
		note(blocker.CodeNever, 0)
	}
	anyGPU := *w
	anyGPU.Avoid, anyGPU.Shuns = model.RankKey{}, ""
	if _, fits := p.Find(&anyType); fits && w.Model != "" {
		note(blocker.CodeGPUType, free)
	}
	if _, fits := p.Find(&anySize); fits && w.MemoryMB > 0 {
		note(blocker.CodeGPUMemory, free)
	}
	if _, fits := p.Find(&anyNode); fits && says {
		note(blocker.CodeConstraint, free)
	}
	if _, fits := p.Find(&anyGPU); fits && w.Avoid.Job > 0 {
		note(blocker.CodeAvoid, free)
	}
	if open, few := p.open(), w.Fewest(); open < max(few.Nodes, 1) {
		note(blocker.CodeNodes, open)
	}
	note(blocker.CodeGPUs, free)
	out[len(out)-1].Best = int64(best)
	return out
}

// suiting counts the free GPUs that suit, in all and on the node that has most.
func (p *Capacity) suiting(w *Request) (all, most uint32) {
	for free := p.MostFree(w); free > 0; free-- {
		for _, h := range p.NodesWith(free, w) {
			n := p.Count(h, w)
			all += n
			most = max(most, n)
		}
	}
	return all, most
}

// open counts the nodes that take work.
func (p *Capacity) open() (n uint32) {
	for _, node := range p.state.Nodes.All() {
		if node.Schedulable() {
			n++
		}
	}
	return n
}
