package sched

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Explanation says why a task waits: all that keeps it, not only the first thing.
type Explanation struct {
	Task     model.TaskKey
	Summary  string // one line in plain words
	Policy   string
	Factors  []queue.Factor // what its place in the order follows from
	Position int            // as of [Position]
	Exact    bool
	Blockers []blocker.Blocker // none: the next plan places it
	Ahead    []Ahead           // the first jobs that are tried before it
	AheadN   int               // how many tasks are tried before it
	Unblock  []Unblock         // each of these alone would let it start
	At       model.Time
}

// Ahead is a job of which tasks are tried before the one that is explained, or a service
// that is.
type Ahead struct {
	Job      model.JobID        // 0: it is a service
	Service  model.AllocationID // empty: it is a job
	Tasks    int                // of it, that are tried before; counted up to exactUpTo
	Name     string
	User     string
	GPUs     uint32 // of one task
	Class    model.Class
	Priority uint8 // as the user gave it
}

// maxAhead bounds the list of jobs ahead.
const maxAhead = 10

// Explain says why a task waits on s at the time now; false if it does not wait.
// The plan for the same state and time places the task exactly if there is no
// blocker, for both are found by the same pass.
func Explain(s *state.State, now model.Time, key model.TaskKey) (Explanation, bool) {
	t := admission.TicketOf(s, key)
	if t.Task.State != model.TaskQueued {
		return Explanation{}, false
	}
	v := judge(s, now, t)
	o := v.pass.order
	at := t.QueueKey(s)
	e := Explanation{
		Task: key, Policy: o.Policy.Name, Factors: o.Policy.Factors(o, at), At: v.pass.now,
		Blockers: v.all(), Ahead: ahead(o, at),
	}
	if o.SortKey(at).Late {
		e.Factors = append(e.Factors, queue.Factor{Name: "over_quota", Value: "goes after all who are within theirs"})
	}
	e.Position, e.Exact = queue.Position(s, now, key)
	e.AheadN = e.Position - 1
	e.Unblock = unblock(s, &e)
	e.Summary = summary(&e)
	return e, true
}

// ahead lists the first jobs that are tried before a task.
func ahead(o *queue.Ordering, at state.QueueKey) (out []Ahead) {
	place := o.SortKey(at)
	for q := queue.NewQueue(o); q.Len() > 0 && len(out) < maxAhead; q.Reorder() {
		r := q.Head()
		if r.At.Compare(place) >= 0 {
			break
		}
		t := admission.TicketOf(o.State, r.Key.Task)
		spec := &t.Job.Spec
		i := slices.IndexFunc(out, func(a Ahead) bool { return t.Service == "" && a.Job == t.Job.ID })
		if i < 0 {
			i = len(out)
			out = append(out, Ahead{
				Job: t.Job.ID, Service: t.Service, Name: model.Called(spec), User: spec.User, GPUs: spec.GPUs, Class: r.Key.Class, Priority: spec.Priority,
			})
		}
		out[i].Tasks += r.CountBefore(o, place)
		if t.Service != "" {
			q.Advance()
		} else {
			q.SkipJob()
		}
	}
	return out
}

// verdict is what a pass says to a task when its turn comes.
type verdict struct {
	pass *pass
	want want
	bars []blocker.Blocker // other than that it finds no GPUs
	fits bool
}

// judge makes the plan for s at the time now up to a waiting task's turn.
func judge(s *state.State, now model.Time, t *admission.Ticket) verdict {
	v := verdict{pass: newPass(s, now)}
	v.want = v.pass.wantOf(t)
	set := s.Settings()
	if !set.Running {
		v.bars = append(v.bars, blocker.Blocker{Code: blocker.CodeStopped})
	}
	if set.Standstill {
		v.bars = append(v.bars, blocker.Blocker{Code: blocker.CodeStandstill})
	}
	p := v.pass
	p.beside.clear()
	p.claimed()
	if v.fits = p.done[t.Task.Key]; v.fits {
		return v
	}
	if p.searches() {
		p.search()
		if v.fits = p.done[t.Task.Key]; !v.fits {
			v.bars = slices.AppendSeq(v.bars, p.admit(t))
		}
		return v
	}
	at := p.order.SortKey(t.QueueKey(s))
	p.jobs(&at)
	v.want = p.wantOf(t)
	v.bars = slices.AppendSeq(v.bars, p.admit(t))
	if _, v.fits = v.want.seek(p.pool); !v.fits && p.times.shift(&v.want) {
		_, v.fits = v.want.seek(p.pool)
	}
	v.fits = v.fits && len(p.commands) < maxPlan && !p.stopped
	return v
}

// placed says that the plan places the task.
func (v *verdict) placed() bool { return v.fits && len(v.bars) == 0 }

// all is everything that keeps the task from being placed.
func (v *verdict) all() []blocker.Blocker {
	if v.fits {
		return v.bars
	}
	misfit := v.pass.misfit(&v.want, newPool(v.pass.state))
	if first := &misfit[0]; len(v.bars) > 0 && (first.Code == blocker.CodeBarred || first.Code == blocker.CodeAhead && first.Have == 0) {
		return v.bars // which are why a search has not placed it: GPUs are free, and nobody goes first
	}
	if misfit[len(misfit)-1].Code == blocker.CodeGPUs {
		misfit = append(append(misfit, v.shut()...), v.degraded()...)
	}
	return append(v.bars, misfit...)
}

// misfit says why a task has found no GPUs: there are too few free ones, or the
// plan gives them to those before it. Fresh is a pool of which nothing was given away.
func (p *pass) misfit(w *want, fresh *pool) []blocker.Blocker {
	free := *w
	free.until = 0
	if p.found.plans(w.who) || len(p.pool.kept[w.who]) > 0 {
		b := blocker.Blocker{Code: blocker.CodeSuspending, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(p.found.stops)}
		b.Whom, b.GPUs, b.Until = makeWay(p.state, w.who)
		return []blocker.Blocker{b}
	}
	if bars := p.beside.explain(fresh, free); len(bars) > 0 {
		return bars
	}
	if _, fits := free.seek(p.pool); fits && len(p.times.reserved) > 0 && !p.stopped {
		first := p.times.reserved[0]
		t := admission.TicketOf(p.state, first.Task)
		if p.order.Drains(t.QueueKey(p.state)) {
			first.At = 0 // whatever is expected
		}
		return []blocker.Blocker{{
			Code: blocker.CodeReserved, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(len(p.times.reserved)),
			Turn: blocker.Turn{Until: first.At, Task: first.Task, Service: t.Service},
		}}
	}
	if _, fits := free.seek(p.pool); fits && p.found.planned != nil {
		return []blocker.Blocker{barred(p, w)}
	}
	free.keep = nil
	if _, fits := fresh.find(&free); fits {
		return []blocker.Blocker{{Code: blocker.CodeAhead, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(len(p.commands))}}
	}
	return fresh.shortage(&free)
}

// shortage says what of a gang's GPUs there is too little of, though nothing was
// placed yet.
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
	anyNode.sites, says = w.sites.whatever()
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

// ExplainAllocation says why an allocation waits on s at the time now, as [Explain] does
// of a task; false if it does not wait.
func ExplainAllocation(s *state.State, now model.Time, id model.AllocationID) (Explanation, bool) {
	a, _ := s.Allocations.Get(id)
	if a.State != model.AllocationQueued {
		return Explanation{}, false
	}
	return Explain(s, now, a.Turn)
}
