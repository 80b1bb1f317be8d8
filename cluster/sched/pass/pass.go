package pass

import (
	"unique"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/reserve"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// MaxPlan bounds the commands of a plan. Carrying a plan out changes the state, and so asks for the next plan.
const MaxPlan = 256

// MaxSuspend bounds the attempts of one command.
const MaxSuspend = 1024

// Pass is one pass over the waiting tasks.
type Pass struct {
	State     *state.State
	Now       model.Time
	Order     *queue.Ordering
	Free      *place.Capacity
	Budget    admission.Budget
	Sites     place.SitesCache
	Timetable *reserve.Timetable
	Found     Found
	Plan
	Bookings Bookings
}

// Plan is what a pass has decided so far.
type Plan struct {
	Commands []command.Body
	Done     map[model.TaskKey]bool // tasks that are placed
}

// Found is what a pass has found out on the way, most of it by a search.
type Found struct {
	ToRun map[model.TaskKey]unique.Handle[state.Run] // waiting tasks that should run, including those placed

	Suspended     int        // attempts that are suspended
	GangNodes     uint32     // nodes that large jobs were given
	NeedsOutlook  bool       // the search has to return an outlook
	SuspendableAt model.Time // when the first attempt that may not be suspended yet may be; 0: never
	Kept          []KeptGPUs // what is kept for waiting tasks
}

// Plans reports whether a waiting task should run.
func (f *Found) Plans(key model.TaskKey) bool {
	_, is := f.ToRun[key]
	return is
}

// New returns a pass over s at the time now, in the order of the policy.
func New(s *state.State, now model.Time) *Pass { return NewInOrder(s, queue.NewOrdering(s, now)) }

// NewInOrder returns a pass over s in a given order of the queue.
func NewInOrder(s *state.State, o *queue.Ordering) *Pass {
	free := place.NewCapacity(s)
	p := &Pass{
		State: s, Now: o.Now, Order: o, Found: Found{GangNodes: s.Settings().Steer.Gangs}, Free: free, Sites: place.SitesCache{},
		Timetable: reserve.New(s, o.Now, free), Budget: admission.NewBudget(s, o.Now),
		Plan: Plan{Done: map[model.TaskKey]bool{}},
	}
	p.Bookings = Bookings{pass: p, Books: state.OpenBooks(s, o.Now)}
	return p
}

// Full reports whether nothing else can start: the plan has enough commands, or no GPU is left.
func (p *Pass) Full() bool { return len(p.Commands) >= MaxPlan || p.Free.Empty() }

// RequestOnly returns what a task needs, without regard to what is kept for others.
func (p *Pass) RequestOnly(t *admission.Ticket) place.Request {
	w := place.RequestOf(p.State, &t.Job.Spec, t.Task.Key)
	w.Sites = p.Sites.Of(p.State, place.WhereOf(p.State, &t.Job.Spec, t.Service != ""))
	return w
}

// RequestOf returns what a task needs, and what it has to leave to others in this pass.
func (p *Pass) RequestOf(t *admission.Ticket) place.Request {
	w := p.RequestOnly(t)
	w = place.WithinLimits(&p.Budget, w, t)
	w.Bookings = place.NewBookingGuard(p.Bookings.Books, t.Job.Spec.User, t.Job.Spec.Project, t.SpecAsPlaced(p.State).CertainEnd(p.Now), &w)
	if p.Order.Tuning.Backfill == model.BackfillReserve {
		w.Until = p.Now.Add(p.Timetable.HoldTime(p.Order, t))
	}
	return w
}

// GPUsOf returns how many GPUs ranks have.
func GPUsOf(ranks []command.Placement) (n uint32) {
	for i := range ranks {
		n += uint32(len(ranks[i].Slots))
	}
	return n
}

// Start adds the command that starts a task on its ranks, with their GPUs if it has any, and counts what the task uses.
func (p *Pass) Start(t *admission.Ticket, ranks []command.Placement) {
	spec := &t.Job.Spec
	p.Budget.Release(t)
	if spec.WithoutGPUs() {
		p.Budget.UseCPUs(spec.Project, spec.User, spec.CPUs*uint32(len(ranks)))
	} else {
		p.Budget.Use(spec.Project, spec.User, GPUsOf(ranks), t.LiveTasks())
	}
	p.Budget.Jobs[t.Job.ID]++
	p.Done[t.Task.Key] = true
	p.Free.ReleaseClaims(t.Task.Key)
	p.Commands = append(p.Commands, t.StartCommand(p.State.Index, ranks))
}

// Searches reports whether the pass looks for the best set of jobs to run, rather than filling what is free in
// order: under fair share with backfill reservations, and otherwise where jobs may be suspended. Without backfill
// no task passes the first that finds no GPUs, so no running job would have to be suspended for an earlier one.
func (p *Pass) Searches() bool {
	t := &p.Order.Tuning
	if t.Backfill == model.BackfillNone {
		return false
	}
	if p.Order.Policy.Name == model.DefaultPolicy && t.Backfill == model.BackfillReserve {
		return true
	}
	return !p.Order.Steady
}

// Sooner returns the earlier of two instants; 0 is never.
func Sooner(a, b model.Time) model.Time {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
