package sched

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/cores"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
)

// Verdict is the outcome of a pass for one task.
type Verdict struct {
	planner *Planner
	request place.Request
	Bars    []blocker.Blocker // other than that it finds no GPUs
	fits    bool
	cores   *cores.Step       // of a job without GPUs; else nil
	ticket  *admission.Ticket // likewise
}

// Judge runs the pass for s at the time now up to a waiting task's turn.
func Judge(s *state.State, now model.Time, t *admission.Ticket) Verdict {
	v := Verdict{planner: NewPlanner(s, now)}
	set := s.Settings()
	if !set.Running {
		v.Bars = append(v.Bars, blocker.Blocker{Code: blocker.CodeStopped})
	}
	if set.Standstill {
		v.Bars = append(v.Bars, blocker.Blocker{Code: blocker.CodeStandstill})
	}
	p := v.planner
	if t.Job.Spec.WithoutGPUs() {
		v.judgeCores(t)
		return v
	}
	v.request = p.RequestOf(t)
	p.Bookings.MakeRoom()
	p.StartClaimants(true)
	if v.fits = p.Done[t.Task.Key]; v.fits {
		return v
	}
	if p.Searches() {
		p.search()
		if v.fits = p.Done[t.Task.Key]; !v.fits {
			v.Bars = slices.AppendSeq(v.Bars, p.Blockers(t))
		}
		return v
	}
	at := p.Order.SortKey(t.QueueKey(s))
	p.inOrder(&at)
	v.request = p.RequestOf(t)
	v.Bars = slices.AppendSeq(v.Bars, p.Blockers(t))
	if _, v.fits = v.request.Seek(p.Free); !v.fits && p.Timetable.Shift(&v.request) {
		_, v.fits = v.request.Seek(p.Free)
	}
	v.fits = v.fits && len(p.Commands) < pass.MaxPlan && !p.stopped
	return v
}

// judgeCores runs the step of jobs without GPUs up to a task's turn, after the steps before, which may fill the plan.
func (v *Verdict) judgeCores(t *admission.Ticket) {
	p := v.planner
	p.giveGPUs()
	v.cores, v.ticket = cores.New(p.Pass, p.Order), t
	at := p.Order.SortKey(t.QueueKey(p.State))
	v.cores.Run(&at)
	v.Bars = slices.AppendSeq(v.Bars, p.Blockers(t))
	v.fits = len(p.Commands) < pass.MaxPlan && v.cores.Finds(t)
}

// Order returns the order of the queue in which the pass went.
func (v *Verdict) Order() *queue.Ordering { return v.planner.Order }

// Placed reports whether the plan places the task.
func (v *Verdict) Placed() bool { return v.fits && len(v.Bars) == 0 }

// Blockers returns all that keeps the task from being placed.
func (v *Verdict) Blockers() []blocker.Blocker {
	if v.fits {
		return v.Bars
	}
	if v.cores != nil {
		return append(v.Bars, v.cores.WhyNoRoom(v.ticket))
	}
	misfit := v.planner.WhyNoGPUs(&v.request, place.NewCapacity(v.planner.State))
	if first := &misfit[0]; len(v.Bars) > 0 && (first.Code == blocker.CodeBarred || first.Code == blocker.CodeAhead && first.Have == 0) {
		return v.Bars // they are why a search has not placed the task: GPUs are free, and no task goes first
	}
	if misfit[len(misfit)-1].Code == blocker.CodeGPUs {
		misfit = append(append(misfit, v.shut()...), v.degraded()...)
	}
	return append(v.Bars, misfit...)
}

// After returns a state after commands; false if one of them is refused.
func After(s *state.State, bodies ...command.Body) (next state.State, done bool) {
	commands := make([]command.Command, 0, len(bodies))
	for _, b := range bodies {
		c, err := command.New("explain", b)
		if err != nil {
			return next, false
		}
		commands = append(commands, c)
	}
	meta := state.Meta{Index: s.Index + 1, Term: s.Term, At: s.Settings().Clock, By: "explain"}
	next, results, _ := apply.Apply(*s, meta, commands)
	return next, !slices.ContainsFunc(results, func(r command.Result) bool { return !r.OK() })
}

// VictimsOf returns the tasks that the plan of an instant stops for a task; none if GPUs that are kept for others
// suffice. If the plan does not provide for the task, planned is false, and next is when others may be stopped for
// it, or 0 for never.
func VictimsOf(s *state.State, at model.Time, task model.TaskKey) (victims []blocker.Holder, planned bool, next model.Time) {
	p := NewPlanner(s, at)
	p.Run()
	for _, b := range p.Commands {
		if b, is := b.(*command.Preempt); is && b.Beneficiary == task {
			for _, v := range b.Victims {
				victims = append(victims, blocker.Holder{Task: v.TaskKey()})
			}
			slices.SortFunc(victims, blocker.Holder.Compare)
			return victims, true, 0
		}
	}
	if p.preemption.RetryAt != 0 {
		next = p.Due()
	}
	return nil, false, next
}
