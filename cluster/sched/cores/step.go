package cores

import (
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
)

// Step is the step of a pass that starts jobs without GPUs.
type Step struct {
	*pass.Pass

	order   *queue.Ordering
	hosts   []*host
	misfits map[misfit]verdict
	kept    *kept // nil: no room is kept
}

// misfit is what tasks have in common that find no room in a pass.
type misfit struct {
	shape   model.Shape
	long    model.Step    // how long they are expected to run
	certain time.Duration // how long they run at most; 0: unknown
	shuns   model.NodeID  // that has just refused to start them
}

// verdict is what follows for tasks of which one found no room.
type verdict struct {
	outcome pass.Outcome
	ends    model.Time // that holds for tasks that are expected to end then or later
}

// New returns the step of a pass, in an order that the pass need not have.
func New(p *pass.Pass, o *queue.Ordering) *Step {
	return &Step{Pass: p, order: o, hosts: hostsOf(p.State, o.Now), misfits: map[misfit]verdict{}}
}

// Start starts the waiting jobs without GPUs that find room.
func Start(p *pass.Pass, o *queue.Ordering) {
	if p.State.CPUQueue.Len() > 0 {
		New(p, o).Run(nil)
	}
}

// Run tries the waiting tasks in order or, with a place given, those that come before it. It adds to the plan, which
// has at most [pass.MaxPlan] commands.
func (s *Step) Run(before *queue.SortKey) {
	q := queue.NewCPUQueue(s.order)
	for q.Len() > 0 && len(s.Commands) < pass.MaxPlan {
		r := q.Head()
		if before != nil && r.At.Compare(*before) >= 0 {
			return
		}
		switch s.try(r) {
		case pass.Placed, pass.Skipped:
			q.Advance()
		case pass.JobFull:
			q.SkipJob()
		case pass.RunOver, pass.AllOver:
			r.Done = true
		}
		q.Reorder()
	}
}

func (s *Step) try(r *queue.Run) pass.Outcome {
	t := admission.TicketOf(s.State, r.Key.Task)
	for b := range s.Blockers(t) {
		return pass.OutcomeOf(b.Code)
	}
	run := r.Key.Run.Value()
	w := s.requestOf(t)
	kind := misfit{place.ShapeOf(s.State, &run), run.Expected, t.SpecAsPlaced(s.State).Certain(), w.shuns}
	if v, known := s.misfits[kind]; known && s.endOfTicket(t) >= v.ends {
		return v.outcome
	}
	hosts := s.find(w, s.kept)
	if hosts == nil {
		v := s.verdictOn(w)
		s.misfits[kind] = v
		s.keep(w, t.Task.Key)
		return v.outcome
	}
	s.Pass.Start(t, s.take(w, hosts))
	return pass.Placed
}

// verdictOn returns what follows if a task finds no room. Others of its run find none either, with two exceptions:
// shorter jobs of the run may end before a maintenance; and tasks that are expected to end sooner, be it by less than a
// step of run times, may end before the instant from which room is kept.
func (s *Step) verdictOn(w *request) verdict {
	always := *w
	always.certain = 0
	switch {
	case w.shuns != "":
		return verdict{outcome: pass.Skipped} // like tasks may be on the node that has refused this one
	case s.find(&always, nil) == nil:
		return verdict{outcome: pass.RunOver}
	case s.find(w, nil) == nil:
		return verdict{outcome: pass.JobFull}
	}
	return verdict{pass.Skipped, w.ends}
}

// Finds reports whether a task finds room in what the step has left.
func (s *Step) Finds(t *admission.Ticket) bool { return s.find(s.requestOf(t), s.kept) != nil }
