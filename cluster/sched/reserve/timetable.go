package reserve

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Reservation is a backfill reservation: GPUs that a pass keeps for a task that finds none now.
type Reservation struct {
	Task    model.TaskKey
	At      model.Time // when they are expected to be free
	Until   model.Time // when the task is expected to be done
	Nodes   []model.NodeID
	Request *place.Request
}

// Timetable is what a pass expects of the future.
type Timetable struct {
	state    *state.State
	now      model.Time
	free     *place.Capacity
	Left     Pace            // for how much longer tasks are expected to run
	assumed  bool            // a forecast has set Left
	Reserved []Reservation   // for tasks that found none
	strict   bool            // one of them has waited for longer than its bound
	drains   bool            // for one of them GPUs are drained
	releases []place.Release // GPUs that are expected to become free; nil: not yet looked up
	base     []Instant       // of the releases
	byNode   map[model.NodeID][]*place.Release
	shifted  int // how much was looked at to keep other GPUs
}

// Pace is a function that returns for how much longer a task of a spec is expected to run after it has executed
// for so long.
type Pace func(spec *model.Spec, executed time.Duration) time.Duration

// New returns what a pass expects of the future before it has given GPUs away.
func New(s *state.State, now model.Time, free *place.Capacity) *Timetable {
	return &Timetable{state: s, now: now, free: free, Left: Likely(s)}
}

// Assume changes to a pace.
func (p *Timetable) Assume(left Pace) {
	p.Left, p.assumed = left, true
	p.releases = p.ExpectedReleases()
}

// AddRelease adds GPUs that are expected to become free apart from those of the present holders.
func (p *Timetable) AddRelease(r place.Release) { p.releases, p.byNode = append(p.releases, r), nil }

// ForgetInstants has the instants at which anything becomes free looked up again.
func (p *Timetable) ForgetInstants() { p.base = nil }

// Likely returns a pace that trusts an estimate as long as a task has not outrun it, and otherwise expects what
// the order expects.
func Likely(s *state.State) Pace {
	return func(spec *model.Spec, executed time.Duration) time.Duration {
		left := s.Expect(spec, executed)
		if spec.Estimate > executed {
			left = min(left, spec.Estimate-executed)
		}
		return left
	}
}

// HoldTime returns for how long a ticket is taken to hold its GPUs where others wait for them. No ticket passes a
// task that has waited for too long on a mere guess, see [queue.EndsAfter].
func (p *Timetable) HoldTime(o *queue.Ordering, t *admission.Ticket) time.Duration {
	run := t.QueueKey(p.state).Run.Value()
	switch {
	case p.drains:
		// Longer than any attempt that was placed at this instant is taken to run: the drained GPUs of such an attempt
		// would otherwise be free in time for the ticket's end, and later jobs could use what a gang waits for.
		return admission.LongestSeconds*time.Second + 1
	case p.strict && o.Front[t.Task.Key] == 0 && !run.Told:
		return queue.EndsAfter(&run, true)
	}
	return t.HoldTime()
}

// drain sets whether GPUs are drained. If they are, run times are not trusted: all tasks are taken to run for
// equally long, so that no task that starts later is in the way of one that waits.
func (p *Timetable) drain(on bool) {
	if p.drains != on {
		p.drains = on
		p.releases, p.base, p.byNode = nil, nil, nil
	}
}

// Soon is the time after which GPUs are expected to be free that are being cleaned, or that a task is giving up because it
// is being stopped.
const Soon = time.Minute

// reserve keeps GPUs for a task from the first instant on at which they are expected to be free for as long as the
// task needs them; false if that is never.
func (p *Timetable) reserve(w *place.Request) bool {
	parts, at := NewFinder(p, w).Earliest(0)
	if parts == nil {
		return false
	}
	p.Keep(Reservation{Task: w.Task, At: at, Until: at.Add(w.Until.Sub(p.now))}, w, parts)
	return true
}

// Keep keeps parts of nodes for the time of a reservation.
func (p *Timetable) Keep(r Reservation, w *place.Request, parts []place.Share) {
	r.Request = w
	for _, v := range parts {
		d := p.free.Reserved[v.Node]
		if d == nil {
			d = &place.NodeReservations{}
			p.free.Reserved[v.Node] = d
			for _, r := range p.releasesOf(v.Node) {
				d.AddRelease(r.At, r.GPUs)
			}
		}
		d.Add(place.ReservedPart{N: v.N, At: r.At, Until: r.Until, Request: w})
		r.Nodes = append(r.Nodes, v.Node)
	}
	p.Reserved = append(p.Reserved, r)
}

// releasesOf lists what is expected to become free on a node.
func (p *Timetable) releasesOf(id model.NodeID) []*place.Release {
	if p.byNode == nil {
		p.known() // looks the releases up
		p.byNode = map[model.NodeID][]*place.Release{}
		for i := range p.releases {
			r := &p.releases[i]
			p.byNode[r.Node] = append(p.byNode[r.Node], r)
		}
	}
	all := slices.Clip(p.byNode[id])
	for i := range p.free.Given {
		if r := &p.free.Given[i]; r.Node == id {
			all = append(all, r)
		}
	}
	return all
}

// reserveFew keeps the fewest GPUs that a task takes, so that it starts sooner.
func (p *Timetable) reserveFew(w *place.Request) bool {
	few := w.Fewest()
	return p.reserve(&few)
}

// ReserveFor keeps the fewest GPUs that a task takes, and drains GPUs for a task that has waited for so long that the
// order demands it.
func (p *Timetable) ReserveFor(o *queue.Ordering, w *place.Request, k state.QueueKey) bool {
	already := p.drains
	p.drain(already || o.Drains(k))
	if !p.reserveFew(w) {
		p.drain(already)
		return false
	}
	p.strict = p.strict || o.Urgent(k)
	return true
}

// Instant is a time at which GPUs are expected to become free, or at which reservations end.
type Instant struct {
	At       model.Time
	Releases []*place.Release
	nodes    []model.NodeID
}

// Instants yields the times at which anything is expected to become free, in order.
func (p *Timetable) Instants() iter.Seq[Instant] {
	base, more := p.known(), p.kept()
	return func(yield func(Instant) bool) {
		for len(base)+len(more) > 0 {
			var next Instant
			switch {
			case len(more) == 0 || len(base) > 0 && base[0].At < more[0].At:
				next, base = base[0], base[1:]
			case len(base) == 0 || more[0].At < base[0].At:
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
func (p *Timetable) known() []Instant {
	if p.releases == nil {
		p.releases = p.ExpectedReleases()
	}
	if p.base == nil {
		for i := range p.releases {
			p.base = append(p.base, Instant{At: p.releases[i].At, Releases: []*place.Release{&p.releases[i]}})
		}
		if p.free.Booked != nil {
			for id, parts := range p.free.Booked.Parts { // order-free: merged by instant
				for i := range parts {
					p.base = append(p.base, Instant{At: parts[i].Until, nodes: []model.NodeID{id}})
				}
			}
		}
		p.base = merge(p.base)
	}
	return p.base
}

// kept lists the instants of what this pass has given away and keeps.
func (p *Timetable) kept() []Instant {
	out := make([]Instant, 0, len(p.free.Given)+len(p.Reserved))
	for i := range p.free.Given {
		r := &p.free.Given[i]
		out = append(out, Instant{At: r.At, Releases: []*place.Release{r}})
	}
	for i := range p.Reserved {
		out = append(out, Instant{At: p.Reserved[i].Until, nodes: p.Reserved[i].Nodes})
	}
	return merge(out)
}

// with returns an instant joined with another at the same time.
func (v Instant) with(o *Instant) Instant {
	v.Releases = append(slices.Clip(v.Releases), o.Releases...)
	v.nodes = append(slices.Clip(v.nodes), o.nodes...)
	return v
}

// merge orders instants, and joins those at the same time.
func merge(all []Instant) []Instant {
	slices.SortStableFunc(all, func(a, b Instant) int { return cmp.Compare(a.At, b.At) })
	merged := all[:0]
	for _, v := range all {
		if n := len(merged); n > 0 && merged[n-1].At == v.At {
			merged[n-1] = merged[n-1].with(&v)
			continue
		}
		merged = append(merged, v)
	}
	return merged
}

// ExpectedReleases lists the GPUs that are expected to become free, by node and instant.
func (p *Timetable) ExpectedReleases() []place.Release {
	type group struct {
		node model.NodeID
		at   model.Time
	}
	groups := map[group]*place.Release{}
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
		if at == place.Never {
			continue
		}
		k := group{slot.Node, at}
		if groups[k] == nil {
			groups[k] = &place.Release{At: at, Node: slot.Node}
		}
		groups[k].GPUs = append(groups[k].GPUs, place.GPU{Slot: key, Model: g.Model, MemoryMB: g.MemoryMB})
	}
	out := make([]place.Release, 0, len(groups))
	for _, r := range groups { // order-free: sorted below
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b place.Release) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Node, b.Node)) })
	return out
}

// freeAt returns when a slot is expected to be free.
func (p *Timetable) freeAt(slot *model.Slot, ends map[model.AttemptKey]model.Time) model.Time {
	switch slot.Owner {
	case model.OwnerCleaning:
		return p.now.Add(Soon)
	case model.OwnerAllocation:
		if a, _ := p.state.Allocations.Get(slot.Allocation); a.Expires > 0 {
			return max(a.Expires, p.now.Add(Soon))
		}
		return place.Never
	case model.OwnerForeign, model.OwnerNone:
		return place.Never
	case model.OwnerAttempt:
	}
	key := slot.Rank.Attempt()
	at, known := ends[key]
	if !known {
		at = p.EndOf(key)
		ends[key] = at
	}
	return at
}

// afterClaim returns when a slot that is kept for a task is expected to be free after that task has had it.
func (p *Timetable) afterClaim(c *model.Claim) model.Time {
	t := admission.TicketOf(p.state, c.Beneficiary)
	switch {
	case t.Service != "":
		return place.Never
	case p.drains:
		return p.now.Add(admission.LongestSeconds * time.Second)
	}
	return p.now.Add(Soon + max(p.Left(&t.Job.Spec, t.Task.Executed), admission.LeastRun))
}

// EndOf returns when an attempt is expected to end. In a pass that is no later than what was expected of it when it
// was placed: the instant for which GPUs are kept must not move on while other tasks pass the one that waits.
func (p *Timetable) EndOf(key model.AttemptKey) model.Time {
	a, _ := p.state.Attempts.Get(key)
	if a.Stop != model.ReasonNone {
		return p.now.Add(Soon)
	}
	if p.drains {
		return max(a.Placed.Add(admission.LongestSeconds*time.Second), p.now.Add(admission.LeastRun))
	}
	job, _ := p.state.Jobs.Get(key.Job)
	task, _ := p.state.Tasks.Get(key.TaskKey())
	at := p.now.Add(max(p.Left(&job.Spec, admission.Executed(&task, &a, p.now)), admission.LeastRun))
	if !p.assumed {
		at = min(at, max(a.Placed.Add(task.Expected), p.now.Add(time.Second)))
	}
	return ByDeadline(&job.Spec, p.now, at)
}

// ByDeadline returns an instant, or the time soon after the deadline of a job if that comes first.
func ByDeadline(spec *model.Spec, now, at model.Time) model.Time {
	if spec.Deadline == 0 {
		return at
	}
	return min(at, max(spec.Deadline, now).Add(Soon))
}
