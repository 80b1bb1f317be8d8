package explain

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Explanation is why a task waits: all blockers of the task, not only the first one.
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

// Ahead is a job with tasks, or a service, that is tried before the task that is explained.
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

// Task returns why a task waits on s at the time now; false if it does not wait. The plan for the same state and
// time places the task exactly if there is no blocker, because both are found by the same pass.
func Task(s *state.State, now model.Time, key model.TaskKey) (Explanation, bool) {
	t := admission.TicketOf(s, key)
	if t.Task.State != model.TaskQueued {
		return Explanation{}, false
	}
	v := sched.Judge(s, now, t)
	o := v.Order()
	at := t.QueueKey(s)
	e := Explanation{
		Task: key, Policy: o.Policy.Name, Factors: o.Factors(at), At: o.Now,
		Blockers: v.Blockers(), Ahead: ahead(o, at),
	}
	for i := range e.Blockers {
		if b := &e.Blockers[i]; b.Code == blocker.CodeBackoff || b.Code == blocker.CodeAvoid {
			b.Trouble = state.RefusalIn(s.Events, &t.Task)
		}
	}
	if t.Job.Place.Moved() {
		e.Factors = append([]queue.Factor{{Name: "moved", Value: "ahead of job " + t.Job.Place.Before.String() + " by an operator: what follows is of the place there"}}, e.Factors...)
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
	q := queue.NewQueue(o)
	if at.Run.Value().Shape.GPUs == 0 {
		q = queue.NewCPUQueue(o)
	}
	for ; q.Len() > 0 && len(out) < maxAhead; q.Reorder() {
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
				Job: t.Job.ID, Service: t.Service, Name: model.Called(spec), User: spec.User, GPUs: spec.GPUs, Class: r.Key.Class,
				Priority: spec.Priority,
			})
		}
		out[i].Tasks += q.CountBefore(place)
		if t.Service != "" {
			q.Advance()
		} else {
			q.SkipJob()
		}
	}
	return out
}

// Allocation returns why an allocation waits on s at the time now, as [Task] does for a task; false if it does not
// wait.
func Allocation(s *state.State, now model.Time, id model.AllocationID) (Explanation, bool) {
	a, _ := s.Allocations.Get(id)
	if a.State != model.AllocationQueued {
		return Explanation{}, false
	}
	return Task(s, now, a.Turn)
}
