package view

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
)

// Entry is the place of a job or a service in the queue.
type Entry = queue.Entry

// Row is an entry of a list of jobs before it is converted: what lists are filtered and sorted by, which costs much less than
// the entry itself.
type Row struct {
	View *View
	Job  model.Job
	// Entry is the place in the queue, of an entry that waits.
	Entry Entry
	// Service is the allocation of a service that waits; nil: the entry is a job.
	Service *model.Allocation

	page *Page // with what blocks jobs that wait
}

// User returns the owner.
func (r *Row) User() string {
	if r.Service != nil {
		return r.Service.User
	}
	return r.Job.Spec.User
}

// Project returns the project.
func (r *Row) Project() string {
	if r.Service != nil {
		return r.Service.Project
	}
	return r.Job.Spec.Project
}

// Name returns the name under which lists show the entry, as far as the caller may see it: of a job without a name its run's id, else its
// command.
func (r *Row) Name() string {
	switch {
	case r.Service != nil:
		return r.Service.Service
	case r.Job.Spec.Name == "" && r.Job.Spec.RunID == "" && r.View.hides(&r.Job):
		return ""
	}
	return model.Called(&r.Job.Spec)
}

// Texts returns what a search looks at.
func (r *Row) Texts() []string {
	spec := &r.Job.Spec
	texts := []string{r.Name(), r.User(), r.Project(), spec.RunID}
	if r.Service != nil {
		return append(texts, string(r.Service.ID))
	}
	if texts = append(texts, r.Job.ID.String()); !r.View.hides(&r.Job) {
		texts = append(texts, commandLine(spec))
	}
	return texts
}

// State returns the state in lists.
func (r *Row) State() string {
	if r.Service != nil {
		return model.TaskQueued.String()
	}
	state, _ := r.View.Stand(&r.Job)
	return state
}

// Priority returns the priority.
func (r *Row) Priority() int64 {
	if r.Service != nil {
		return int64(r.Service.Priority)
	}
	return int64(r.Job.Spec.Priority)
}

// GPUs returns how many GPUs it asks for.
func (r *Row) GPUs() int64 {
	if r.Service != nil {
		return int64(r.Service.GPUs)
	}
	return int64(r.Job.Spec.GPUs)
}

// GPUType returns the type of GPU that it asks for; empty: any.
func (r *Row) GPUType() string {
	if r.Service != nil {
		return r.Service.GPUModel
	}
	return r.Job.Spec.GPUModel
}

// Submitted returns when it was submitted.
func (r *Row) Submitted() model.Time {
	if r.Service != nil {
		return r.Service.Asked
	}
	return r.Job.Submitted
}

// Started returns when it started first; 0: it has not.
func (r *Row) Started() (first model.Time) {
	for k, t := range r.View.State.Tasks.From(model.TaskKey{Job: r.Job.ID}) {
		if k.Job != r.Job.ID {
			break
		}
		if t.Started > 0 && (first == 0 || t.Started < first) {
			first = t.Started
		}
	}
	return first
}

// Held reports whether the job is held; an array, whether all of its open tasks are.
func (r *Row) Held() bool {
	if !r.Job.Array() {
		first, _ := r.View.State.FirstTask(r.Job.ID)
		return first.Held
	}
	held, seen := 0, 0
	for k, t := range r.View.State.Tasks.From(model.TaskKey{Job: r.Job.ID}) {
		if k.Job != r.Job.ID || seen == summedUpTo {
			break
		}
		if seen++; t.Held {
			held++
		}
	}
	return held > 0 && held == int(r.Job.Open)
}

// Reason returns why it waits or how it ended, as in lists.
func (r *Row) Reason() string {
	if r.Service != nil {
		return ""
	}
	why := r.View.Awaits(&r.Job)
	if why == "" && !r.Job.Array() {
		first, _ := r.View.State.FirstTask(r.Job.ID)
		why = r.View.reason(&first)
	}
	if r.page != nil && r.Job.Open > 0 && r.Job.Live == 0 {
		first, _ := FirstWaiting(r.View.State, r.Job.ID)
		why = r.page.whyYet(first.Key, why)
	}
	return why
}

// Nodes returns where it runs, or ran last.
func (r *Row) Nodes() (nodes []string) {
	s := r.View.State
	add := func(t *model.Task) {
		for _, rank := range s.RanksOf(t.Newest()) {
			if id := string(rank.Node); !slices.Contains(nodes, id) {
				nodes = append(nodes, id)
			}
		}
	}
	for k, t := range s.Tasks.From(model.TaskKey{Job: r.Job.ID}) {
		if k.Job != r.Job.ID {
			break
		}
		if t.State.Live() || !r.Job.Array() && t.Attempts > 0 && t.State.Terminal() {
			add(&t)
		}
	}
	return nodes
}
