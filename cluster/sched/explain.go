package sched

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Explanation says why a task waits: all that keeps it, not only the first thing.
type Explanation struct {
	Task     model.TaskKey
	Summary  string // one line in plain words
	Policy   string
	Factors  []Factor // what its place in the order follows from
	Position int      // as of [Position]
	Exact    bool
	Blockers []Blocker // none: the next plan places it
	Ahead    []Ahead   // the first jobs that are tried before it
	AheadN   int       // how many tasks are tried before it
	Unblock  []Unblock // each of these alone would let it start
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
	t := ticketOf(s, key)
	if t.task.State != model.TaskQueued {
		return Explanation{}, false
	}
	v := judge(s, now, t)
	o := v.pass.order
	at := t.key(s)
	e := Explanation{
		Task: key, Policy: o.policy.name, Factors: o.policy.factors(o, at), At: v.pass.now,
		Blockers: v.all(), Ahead: ahead(o, at),
	}
	if o.standing(at).late {
		e.Factors = append(e.Factors, Factor{"over_quota", "goes after all who are within theirs"})
	}
	e.Position, e.Exact = Position(s, now, key)
	e.AheadN = e.Position - 1
	e.Unblock = unblock(s, &e)
	e.Summary = summary(&e)
	return e, true
}

// ahead lists the first jobs that are tried before a task.
func ahead(o *order, at state.QueueKey) (out []Ahead) {
	place := o.standing(at)
	for q := newQueue(o); q.Len() > 0 && len(out) < maxAhead; q.settle() {
		r := q.head()
		if r.at.compare(place) >= 0 {
			break
		}
		t := ticketOf(o.state, r.key.Task)
		spec := &t.job.Spec
		i := slices.IndexFunc(out, func(a Ahead) bool { return t.service == "" && a.Job == t.job.ID })
		if i < 0 {
			i = len(out)
			out = append(out, Ahead{
				Job: t.job.ID, Service: t.service, Name: model.Called(spec), User: spec.User, GPUs: spec.GPUs, Class: r.key.Class, Priority: spec.Priority,
			})
		}
		out[i].Tasks += r.before(o, place)
		if t.service != "" {
			q.advance()
		} else {
			q.skipJob()
		}
	}
	return out
}

// before counts the tasks of the head's job that come before a place in the order.
func (r *run) before(o *order, place standing) (n int) {
	for k := range o.state.Queue.From(r.key) {
		if k.Task.Job != r.key.Task.Job || !sameRun(k, r.key) || n == exactUpTo || o.standing(k).compare(place) >= 0 {
			break
		}
		n++
	}
	return n
}

// verdict is what a pass says to a task when its turn comes.
type verdict struct {
	pass *pass
	want want
	bars []Blocker // other than that it finds no GPUs
	fits bool
}

// judge makes the plan for s at the time now up to a waiting task's turn.
func judge(s *state.State, now model.Time, t *ticket) verdict {
	v := verdict{pass: newPass(s, now)}
	v.want = v.pass.wantOf(t)
	set := s.Settings()
	if !set.Running {
		v.bars = append(v.bars, Blocker{Code: CodeStopped})
	}
	if set.Standstill {
		v.bars = append(v.bars, Blocker{Code: CodeStandstill})
	}
	p := v.pass
	p.beside.clear()
	p.claimed()
	if v.fits = p.done[t.task.Key]; v.fits {
		return v
	}
	if p.searches() {
		p.search()
		if v.fits = p.done[t.task.Key]; !v.fits {
			v.bars = slices.AppendSeq(v.bars, p.admit(t))
		}
		return v
	}
	at := p.order.standing(t.key(s))
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
func (v *verdict) all() []Blocker {
	if v.fits {
		return v.bars
	}
	misfit := v.pass.misfit(&v.want, newPool(v.pass.state))
	if first := &misfit[0]; len(v.bars) > 0 && (first.Code == CodeBarred || first.Code == CodeAhead && first.Have == 0) {
		return v.bars // which are why a search has not placed it: GPUs are free, and nobody goes first
	}
	if misfit[len(misfit)-1].Code == CodeGPUs {
		misfit = append(append(misfit, v.shut()...), v.degraded()...)
	}
	return append(v.bars, misfit...)
}

// misfit says why a task has found no GPUs: there are too few free ones, or the
// plan gives them to those before it. Fresh is a pool of which nothing was given away.
func (p *pass) misfit(w *want, fresh *pool) []Blocker {
	free := *w
	free.until = 0
	if p.found.plans(w.who) || len(p.pool.kept[w.who]) > 0 {
		b := Blocker{Code: CodeSuspending, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(p.found.stops)}
		b.Whom, b.GPUs, b.Until = makeWay(p.state, w.who)
		return []Blocker{b}
	}
	if bars := p.beside.explain(fresh, free); len(bars) > 0 {
		return bars
	}
	if _, fits := free.seek(p.pool); fits && len(p.times.reserved) > 0 && !p.stopped {
		first := p.times.reserved[0]
		t := ticketOf(p.state, first.Task)
		if p.order.drains(t.key(p.state)) {
			first.At = 0 // whatever is expected
		}
		return []Blocker{{
			Code: CodeReserved, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(len(p.times.reserved)),
			Turn: Turn{Until: first.At, Task: first.Task, Service: t.service},
		}}
	}
	if _, fits := free.seek(p.pool); fits && p.found.planned != nil {
		return []Blocker{barred(p, w)}
	}
	free.keep = nil
	if _, fits := fresh.find(&free); fits {
		return []Blocker{{Code: CodeAhead, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(len(p.commands))}}
	}
	return fresh.shortage(&free)
}

// shortage says what of a gang's GPUs there is too little of, though nothing was
// placed yet.
func (p *pool) shortage(w *want) (out []Blocker) {
	note := func(c Code, have uint32) {
		out = append(out, Blocker{
			Code: c, Need: int64(w.need), Nodes: int64(w.nodes), Have: int64(have),
			Asked: Asked{Model: w.model, Found: several(p.state, w.model), MemoryMB: w.memory, Where: w.sites.text(), Least: int64(w.least), Private: w.sites.private()},
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
		note(CodeAccounts, free)
	} else if never {
		note(CodeNever, 0)
	}
	anyGPU := *w
	anyGPU.avoid = model.RankKey{}
	if _, fits := p.find(&anyType); fits && w.model != "" {
		note(CodeGPUType, free)
	}
	if _, fits := p.find(&anySize); fits && w.memory > 0 {
		note(CodeGPUMemory, free)
	}
	if _, fits := p.find(&anyNode); fits && says {
		note(CodeConstraint, free)
	}
	if _, fits := p.find(&anyGPU); fits && w.avoid.Job > 0 {
		note(CodeAvoid, free)
	}
	if open, few := p.open(), w.few(); open < max(few.nodes, 1) {
		note(CodeNodes, open)
	}
	note(CodeGPUs, free)
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
