package sched

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/cores"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/preemption"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/search"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Plan returns what to place and grant on s, and when the next plan is due even if nothing happens; 0: never. now
// is the time with which the commands will be stamped, or the state's clock if that is later. A cluster that is
// stopped or in a standstill has an empty plan.
func Plan(s *state.State, now model.Time) (commands []command.Body, next model.Time) {
	set := s.Settings()
	if !set.Running || set.Standstill {
		return nil, 0
	}
	p := NewPlanner(s, now)
	p.Run()
	return p.Commands, p.next()
}

// Planner makes the plan of one pass.
type Planner struct {
	*pass.Pass

	preemption *preemption.Step
	cores      *cores.Step     // nil: no job without GPUs waits
	outlook    *search.Outlook // nil: there was no search, or no outlook is asked for
	misfits    misfits
	stopped    bool // nothing else may start: a task waits that none may pass
}

// NewPlanner returns the planner of a pass over s at the time now.
func NewPlanner(s *state.State, now model.Time) *Planner {
	p := pass.New(s, now)
	return &Planner{Pass: p, preemption: preemption.New(p), misfits: misfits{least: map[model.Shape]time.Duration{}}}
}

// Run makes the whole plan.
func (p *Planner) Run() {
	p.giveGPUs()
	p.StartOnCores() // 5. Start jobs without GPUs, which change nothing in the steps before.
	p.remember()     // 6. Store what the next passes continue from.
}

// giveGPUs runs the steps of a pass for jobs with GPUs.
func (p *Planner) giveGPUs() {
	p.Bookings.MakeRoom()  // 1. Suspend jobs for bookings that have begun and lack GPUs.
	p.StartClaimants(true) // 2. Start the tasks for which others were preempted, once all of their GPUs are free.
	p.Fill()               // 3. Admit, place and reserve, in order or as the result of a search.
	p.preemption.Run()     // 4. Preempt jobs of lower classes and borrowers for the first preemptor.
}

// Fill starts jobs on free GPUs and, in a search, suspends others to make room.
func (p *Planner) Fill() {
	if p.Searches() {
		p.search()
	} else {
		p.inOrder(nil)
	}
}

// StartOnCores starts jobs without GPUs.
func (p *Planner) StartOnCores() {
	if p.State.CPUQueue.Len() > 0 {
		p.cores = cores.New(p.Pass, p.Order)
		p.cores.Run(nil)
	}
}

// WhyNoRoom returns why a task of a job without GPUs was not started, as far as room is the cause.
func (p *Planner) WhyNoRoom(t *admission.Ticket) blocker.Blocker {
	if p.cores == nil {
		p.cores = cores.New(p.Pass, p.Order)
	}
	return p.cores.WhyNoRoom(t)
}

// search starts and suspends jobs as in the best layout of all jobs.
func (p *Planner) search() { p.outlook = search.Run(p.Pass, p.preemption) }

// Again is for how long a plan is valid while something waits and nothing happens: sort keys change with time
// alone.
const Again = 30 * time.Minute

// next returns when the next plan is due even if nothing happens; 0: never.
func (p *Planner) next() model.Time {
	if p.State.Queue.Len()+p.State.CPUQueue.Len() > 0 {
		return pass.Sooner(p.Due(), p.Now.Add(Again))
	}
	return p.Due()
}

// Due returns when the next thing happens that is known in advance: the start of a period, a task's next try, a
// booking's start or end, or the first instant at which a task may be stopped for others; 0: never.
func (p *Planner) Due() (at model.Time) {
	at = p.preemption.RetryAt
	if p.State.Queue.Len() > 0 {
		at = pass.Sooner(at, pass.Sooner(p.Found.SuspendableAt, renewed(p.State, p.Now)))
	}
	for k := range p.State.Due.From(state.DueKey{At: p.Now + 1}) {
		at = pass.Sooner(at, k.At)
		break
	}
	for _, b := range p.State.Bookings.All() {
		for _, t := range []model.Time{b.Start, b.End} {
			if t > p.Now {
				at = pass.Sooner(at, t)
			}
		}
	}
	return at
}

// remember adds a command that stores in the state what the next passes continue from.
func (p *Planner) remember() {
	old := p.State.Settings().Steer
	c := p.Order.Credit
	if p.Found.GangNodes == old.Gangs && p.Order.FrontGPUs == old.Rate && c.Spent == old.Spent {
		return
	}
	p.Commands = append(p.Commands, &command.Steer{Steer: model.Steer{
		Gangs: p.Found.GangNodes, Credit: c.Left, At: p.Now, Rate: p.Order.FrontGPUs, Spent: c.Spent,
	}})
}

// renewed returns when the next period of a used-up quota begins; 0: no quota is used up.
func renewed(s *state.State, now model.Time) (at model.Time) {
	for scope, a := range s.Accounts.All() {
		if a.Began == 0 {
			continue
		}
		if q := s.QuotaOf(scope, now); q.Exceeded() {
			at = pass.Sooner(at, q.Next)
		}
	}
	return at
}

// Weighs reports whether a plan for s depends on loads.
func Weighs(s *state.State) bool {
	if set := s.Settings(); queue.TuningOf(&set).Placement == model.StrategyLeastLoaded {
		return s.Queue.Len() > 0
	}
	for head := range queue.Heads(s) {
		if head.Run.Value().Shape.Strategy == model.StrategyLeastLoaded.String() {
			return true
		}
	}
	return false
}

// PlanLoaded returns what [Plan] returns, where it is known how busy nodes are, and the outlook of its search;
// nil: there was none. Loads choose among nodes, but never decide whether something starts: the plan has the same
// tasks as without them. If choosing by load would place other tasks, the plan is the one without loads.
func PlanLoaded(s *state.State, now model.Time, loads place.Loads) (commands []command.Body, next model.Time, o *search.Outlook) {
	set := s.Settings()
	if !set.Running || set.Standstill {
		return nil, 0, nil
	}
	p := NewPlanner(s, now)
	p.Found.NeedsOutlook = true
	p.Run()
	next = p.next()
	if len(loads) > 0 && len(p.Commands) > 0 && Weighs(s) {
		q := NewPlanner(s, now)
		q.Free.Loads, q.Found.NeedsOutlook = loads, true
		if q.Run(); alike(p.Commands, q.Commands) {
			p = q
		}
	}
	return p.Commands, next, p.outlook
}

// alike reports whether two plans do the same, except for the nodes that they choose.
func alike(a, b []command.Body) bool {
	return slices.EqualFunc(a, b, func(a, b command.Body) bool {
		switch x := a.(type) {
		case *command.Place:
			y, is := b.(*command.Place)
			return is && x.Attempt == y.Attempt
		case *command.Grant:
			y, is := b.(*command.Grant)
			return is && x.ID == y.ID
		case *command.Suspend:
			y, is := b.(*command.Suspend)
			return is && slices.Equal(x.Attempts, y.Attempts)
		case *command.Preempt:
			y, is := b.(*command.Preempt)
			return is && x.Beneficiary == y.Beneficiary && slices.Equal(x.Victims, y.Victims)
		case *command.Steer:
			y, is := b.(*command.Steer)
			return is && *x == *y
		}
		return false
	})
}
