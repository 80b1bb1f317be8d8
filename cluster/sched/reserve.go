package sched

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Reservation is a backfill reservation: GPUs that a pass keeps for a task that finds none now.
type Reservation struct {
	Task  model.TaskKey
	At    model.Time // when they are expected to be free
	Until model.Time // when the task is expected to be done
	on    []model.NodeID
	want  *want
}

// timetable is what a pass expects of the future.
type timetable struct {
	state    *state.State
	now      model.Time
	pool     *pool
	left     pace
	reserved []Reservation // for tasks that found none
	strict   bool          // one of them has waited for longer than its bound
	drains   bool          // for one of them GPUs are drained
	releases []release     // GPUs that are expected to become free; nil: not yet looked up
	base     []instant     // of the releases
	byNode   map[model.NodeID][]*release
	shifted  int // how much was looked at to keep other GPUs
}

// pace is a function that returns for how much longer a task of a spec is expected to run after it has executed
// for so long.
type pace func(spec *model.Spec, executed time.Duration) time.Duration

// newTimetable returns what a pass expects of the future before it has given GPUs away.
func newTimetable(s *state.State, now model.Time, free *pool) *timetable {
	return &timetable{state: s, now: now, pool: free, left: likely(s)}
}

// assume changes to a pace.
func (p *timetable) assume(left pace) {
	p.left = left
	p.releases = p.expected()
}

// addRelease adds GPUs that are expected to become free apart from those of the present holders.
func (p *timetable) addRelease(r release) { p.releases, p.byNode = append(p.releases, r), nil }

// forgetInstants has the instants at which anything becomes free looked up again.
func (p *timetable) forgetInstants() { p.base = nil }

// likely returns a pace that trusts an estimate as long as a task has not outrun it, and otherwise expects what
// the order expects.
func likely(s *state.State) pace {
	return func(spec *model.Spec, executed time.Duration) time.Duration {
		left := s.Expect(spec, executed)
		if spec.Estimate > executed {
			left = min(left, spec.Estimate-executed)
		}
		return left
	}
}

// holds returns for how long a ticket is taken to hold its GPUs where others wait for them. No ticket passes a
// task that has waited for too long on a mere guess, see [queue.EndsAfter].
func (p *timetable) holds(o *queue.Ordering, t *admission.Ticket) time.Duration {
	run := t.QueueKey(p.state).Run.Value()
	switch {
	case p.drains:
		return admission.LongestSeconds * time.Second
	case p.strict && o.Front[t.Task.Key] == 0 && !run.Told:
		return queue.EndsAfter(&run, true)
	}
	return t.HoldTime()
}

// drain sets whether GPUs are drained. If they are, run times are not trusted: all tasks are taken to run for
// equally long, so that no task that starts later is in the way of one that waits.
func (p *timetable) drain(on bool) {
	if p.drains != on {
		p.drains = on
		p.releases, p.base, p.byNode = nil, nil, nil
	}
}

// soon is after which time GPUs are expected to be free that are being cleaned, or freed by a task that is being stopped.
const soon = time.Minute

// reserve keeps GPUs for a task from the first instant on at which they are expected to be free for as long as the
// task needs them; false if that is never.
func (p *timetable) reserve(w *want) bool {
	parts, at := newFinder(p, w).earliest(0)
	if parts == nil {
		return false
	}
	p.keep(Reservation{Task: w.who, At: at, Until: at.Add(w.until.Sub(p.now))}, w, parts)
	return true
}

// keep keeps parts of nodes for the time of a reservation.
func (p *timetable) keep(r Reservation, w *want, parts []share) {
	r.want = w
	for _, v := range parts {
		d := p.pool.reserved[v.node]
		if d == nil {
			d = &diary{}
			p.pool.reserved[v.node] = d
			for _, r := range p.releasesOf(v.node) {
				d.frees(r.at, r.gpus)
			}
		}
		d.add(kept{n: v.n, at: r.At, until: r.Until, want: w})
		r.on = append(r.on, v.node)
	}
	p.reserved = append(p.reserved, r)
}

// releasesOf lists what is expected to become free on a node.
func (p *timetable) releasesOf(id model.NodeID) []*release {
	if p.byNode == nil {
		p.known() // looks the releases up
		p.byNode = map[model.NodeID][]*release{}
		for i := range p.releases {
			r := &p.releases[i]
			p.byNode[r.node] = append(p.byNode[r.node], r)
		}
	}
	all := slices.Clip(p.byNode[id])
	for i := range p.pool.given {
		if r := &p.pool.given[i]; r.node == id {
			all = append(all, r)
		}
	}
	return all
}

// reserveFew keeps the fewest GPUs that a task takes, so that it starts sooner.
func (p *timetable) reserveFew(w *want) bool {
	few := w.few()
	return p.reserve(&few)
}

// reserveIn keeps the fewest GPUs that a task takes, and what an order owes to a task that has waited for so long.
func (p *timetable) reserveIn(o *queue.Ordering, w *want, k state.QueueKey) bool {
	already := p.drains
	p.drain(already || o.Drains(k))
	if !p.reserveFew(w) {
		p.drain(already)
		return false
	}
	p.strict = p.strict || o.Urgent(k)
	return true
}

// instant is a time at which GPUs are expected to become free, or at which reservations end.
type instant struct {
	at       model.Time
	releases []*release
	nodes    []model.NodeID
}

// instants yields the times at which anything is expected to become free, in order.
func (p *timetable) instants() iter.Seq[instant] {
	base, more := p.known(), p.kept()
	return func(yield func(instant) bool) {
		for len(base)+len(more) > 0 {
			var next instant
			switch {
			case len(more) == 0 || len(base) > 0 && base[0].at < more[0].at:
				next, base = base[0], base[1:]
			case len(base) == 0 || more[0].at < base[0].at:
				next, more = more[0], more[1:]
			default:
				next, base, more = base[0].with(&more[0]), base[1:], more[1:]
			}
			if !yield(next) {
				return
			}
		}
	}
}

// known lists the instants that a pass does not change.
func (p *timetable) known() []instant {
	if p.releases == nil {
		p.releases = p.expected()
	}
	if p.base == nil {
		for i := range p.releases {
			p.base = append(p.base, instant{at: p.releases[i].at, releases: []*release{&p.releases[i]}})
		}
		if p.pool.booked != nil {
			for id, parts := range p.pool.booked.parts { // order-free: merged by instant
				for i := range parts {
					p.base = append(p.base, instant{at: parts[i].until, nodes: []model.NodeID{id}})
				}
			}
		}
		p.base = merge(p.base)
	}
	return p.base
}

// kept lists the instants of what this pass has given away and keeps.
func (p *timetable) kept() []instant {
	out := make([]instant, 0, len(p.pool.given)+len(p.reserved))
	for i := range p.pool.given {
		r := &p.pool.given[i]
		out = append(out, instant{at: r.at, releases: []*release{r}})
	}
	for i := range p.reserved {
		out = append(out, instant{at: p.reserved[i].Until, nodes: p.reserved[i].on})
	}
	return merge(out)
}

// with returns an instant joined with another at the same time.
func (v instant) with(o *instant) instant {
	v.releases = append(slices.Clip(v.releases), o.releases...)
	v.nodes = append(slices.Clip(v.nodes), o.nodes...)
	return v
}

// merge orders instants, and joins those at the same time.
func merge(all []instant) []instant {
	slices.SortStableFunc(all, func(a, b instant) int { return cmp.Compare(a.at, b.at) })
	merged := all[:0]
	for _, v := range all {
		if n := len(merged); n > 0 && merged[n-1].at == v.at {
			merged[n-1] = merged[n-1].with(&v)
			continue
		}
		merged = append(merged, v)
	}
	return merged
}

// expected lists the GPUs that are expected to become free, by node and instant.
func (p *timetable) expected() []release {
	type group struct {
		node model.NodeID
		at   model.Time
	}
	groups := map[group]*release{}
	ends := map[model.AttemptKey]model.Time{}
	for key, slot := range p.state.Slots.All() {
		node, _ := p.state.Nodes.Get(slot.Node)
		g, _ := p.state.GPUs.Get(key.GPU)
		claim, claimed := p.state.Claims.Get(key)
		if slot.Owner == model.OwnerNone && !claimed || !node.Schedulable() || !g.Usable() {
			continue
		}
		at := p.freeAt(&slot, ends)
		if claimed {
			at = p.afterClaim(&claim)
		}
		if at == never {
			continue
		}
		k := group{slot.Node, at}
		if groups[k] == nil {
			groups[k] = &release{at: at, node: slot.Node}
		}
		groups[k].gpus = append(groups[k].gpus, gpu{slot: key, model: g.Model, memory: g.MemoryMB})
	}
	out := make([]release, 0, len(groups))
	for _, r := range groups { // order-free: sorted below
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b release) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.node, b.node)) })
	return out
}

// freeAt returns when a slot is expected to be free.
func (p *timetable) freeAt(slot *model.Slot, ends map[model.AttemptKey]model.Time) model.Time {
	switch slot.Owner {
	case model.OwnerCleaning:
		return p.now.Add(soon)
	case model.OwnerAllocation:
		if a, _ := p.state.Allocations.Get(slot.Allocation); a.Expires > 0 {
			return max(a.Expires, p.now.Add(soon))
		}
		return never
	case model.OwnerForeign, model.OwnerNone:
		return never
	case model.OwnerAttempt:
	}
	key := slot.Rank.Attempt()
	at, known := ends[key]
	if !known {
		at = p.endOf(key)
		ends[key] = at
	}
	return at
}

// afterClaim returns when a slot that is kept for a task is expected to be free after that task has had it.
func (p *timetable) afterClaim(c *model.Claim) model.Time {
	t := admission.TicketOf(p.state, c.Beneficiary)
	switch {
	case t.Service != "":
		return never
	case p.drains:
		return p.now.Add(admission.LongestSeconds * time.Second)
	}
	return p.now.Add(soon + max(p.left(&t.Job.Spec, t.Task.Executed), admission.LeastRun))
}

// endOf returns when an attempt is expected to end.
func (p *timetable) endOf(key model.AttemptKey) model.Time {
	a, _ := p.state.Attempts.Get(key)
	if a.Stop != model.ReasonNone {
		return p.now.Add(soon)
	}
	if p.drains {
		return max(a.Placed.Add(admission.LongestSeconds*time.Second), p.now.Add(admission.LeastRun))
	}
	job, _ := p.state.Jobs.Get(key.Job)
	task, _ := p.state.Tasks.Get(key.TaskKey())
	return byDeadline(&job.Spec, p.now, p.now.Add(max(p.left(&job.Spec, admission.Executed(&task, &a, p.now)), admission.LeastRun)))
}

// byDeadline returns an instant, or the time soon after the deadline of a job if that comes first.
func byDeadline(spec *model.Spec, now, at model.Time) model.Time {
	if spec.Deadline == 0 {
		return at
	}
	return min(at, max(spec.Deadline, now).Add(soon))
}
