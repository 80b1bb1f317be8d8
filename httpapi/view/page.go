package view

import (
	"iter"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Page converts the queue to the API's forms.
type Page struct {
	View

	Starts map[model.TaskKey]*wire.Range // expected starts of waiting tasks
	Bars   map[model.TaskKey]string      // what blocks them
	// Foresee returns both once an entry needs them: a forecast costs more than a page. nil: they are known, or there are none.
	Foresee func() (map[model.TaskKey]*wire.Range, map[model.TaskKey]string)
}

// foreseen fills in what the forecast has of waiting tasks.
func (p *Page) foreseen() {
	if p.Foresee != nil {
		p.Starts, p.Bars = p.Foresee()
		p.Foresee = nil
	}
}

// Brief converts the waiting jobs to the form of experiment trackers.
func (p *Page) Brief(list []wire.Job) []wire.QueuedJob {
	out := make([]wire.QueuedJob, 0, len(list))
	for i := range list {
		j := &list[i]
		q := wire.QueuedJob{ID: j.ID, RunID: j.RunID, User: j.User, Priority: j.Priority, GPUs: j.GPUs, QueuedAt: j.SubmittedAt}
		if j.PlannedStart != nil {
			wait := Seconds(j.PlannedStart.Expected.Sub(p.Now.Time()))
			q.Wait = &wait
		}
		out = append(out, q)
	}
	return out
}

// WaitingRows yields the waiting jobs and services in order, in one row that changes; an array stands at the place of its
// first waiting task, unless tasks of it run.
func (p *Page) WaitingRows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		r := Row{View: &p.View, page: p}
		var before model.JobID
		for e := range queue.Order(p.State, p.Now, 0) {
			r.Entry, r.Service = e, nil
			if e.Service != "" {
				a, _ := p.State.Allocations.Get(e.Service)
				r.Job, r.Service = model.Job{}, &a
			} else {
				if e.Task.Job == before {
					continue
				}
				before = e.Task.Job
				r.Job, _ = p.State.Jobs.Get(before)
				if r.Job.Live > 0 || r.Job.Array() && e.Task != p.firstQueued(&r.Job) {
					continue
				}
			}
			if !yield(&r) {
				return
			}
		}
	}
}

// Waits converts a job that waits, by its entry in the queue.
func (p *Page) Waits(e *queue.Entry) wire.Job {
	p.foreseen()
	j, _ := p.State.Jobs.Get(e.Task.Job)
	job := p.Job(&j)
	if !e.Held {
		job.Position, job.PositionExact = e.Position, true
	}
	job.PlannedStart = p.Starts[e.Task]
	job.Reason = p.whyYet(e.Task, job.Reason)
	return job
}

// Listed converts any job, for a list that is not in the order of the queue: one that waits has its reason and its expected start, and no
// position.
func (p *Page) Listed(j *model.Job) wire.Job {
	job := p.Job(j)
	if j.Open > 0 && j.Live == 0 {
		p.foreseen()
		first, _ := FirstWaiting(p.State, j.ID)
		job.PlannedStart, job.Reason = p.Starts[first.Key], p.whyYet(first.Key, job.Reason)
	}
	return job
}

// JobRows yields all jobs, newest or oldest first, in one row that changes.
func (p *Page) JobRows(newest bool) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		r := Row{View: &p.View, page: p}
		all := p.State.Jobs.All()
		if newest {
			all = p.State.Jobs.Back()
		}
		for _, j := range all {
			if r.Job = j; !yield(&r) {
				return
			}
		}
	}
}

// WaitingService converts a service that waits.
func (p *Page) WaitingService(e *queue.Entry) wire.ServiceAllocation {
	p.foreseen()
	a := p.waits(e)
	a.PlannedStart = p.Starts[e.Task]
	return a
}

// Queued returns all waiting jobs, in order.
func (p *Page) Queued() []wire.Job {
	list := []wire.Job{}
	for r := range p.WaitingRows() {
		if r.Service == nil {
			list = append(list, p.Waits(&r.Entry))
		}
	}
	return list
}

// whyYet returns why a task waits: its own reason, else what blocks it, after the reason why it was
// stopped if it ran before.
func (p *Page) whyYet(key model.TaskKey, own string) string {
	p.foreseen()
	bar := p.Bars[key]
	switch t, _ := p.State.Tasks.Get(key); {
	case own == "" || bar == "":
		return own + bar
	case t.Attempts > 0 && !t.Held && t.NotBefore <= p.Now:
		return own + "; " + bar
	}
	return own
}

// firstQueued returns the first waiting task of an array.
func (p *Page) firstQueued(j *model.Job) model.TaskKey {
	for k, t := range p.State.Tasks.From(model.TaskKey{Job: j.ID}) {
		if k.Job != j.ID || t.State == model.TaskQueued {
			return k
		}
	}
	return model.TaskKey{}
}

// RunningRows yields the jobs that run, oldest first, in one row that changes.
func (p *Page) RunningRows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		r := Row{View: &p.View}
		for k := range p.State.Live() {
			if k.Job == r.Job.ID {
				continue
			}
			if r.Job, _ = p.State.Jobs.Get(k.Job); !yield(&r) {
				return
			}
		}
	}
}

// EndedRows yields the jobs that have ended, newest first, in one row that changes.
func (p *Page) EndedRows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		r := Row{View: &p.View}
		for k := range p.State.Ended.Back() {
			if r.Job, _ = p.State.Jobs.Get(k.Job); !yield(&r) {
				return
			}
		}
	}
}

// Statistics counts what the cluster has done; rate is how many tasks ended in the last hour.
func Statistics(s *state.State, rate float64) wire.Statistics {
	n := s.Settings().Totals
	use, _ := s.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	wait := 0.0
	if n.Started > 0 {
		wait = Seconds(n.Waited / time.Duration(n.Started))
	}
	out := wire.Statistics{
		Queued: int64(use.Queued), Running: int64(use.Live) + int64(use.CPULive),
		AverageWaitTime: wait, AverageWaitSeconds: wait, QueueThroughput: rate, JobsPerHour: rate,
	}
	for to, v := range map[*int64]uint64{ // order-free: each by itself
		&out.TotalJobs: n.Submitted, &out.Completed: n.Completed, &out.Failed: n.Failed, &out.Canceled: n.Canceled,
		&out.Attempts: n.Attempts, &out.LostAttempts: n.Lost, &out.Preempted: n.Preempted, &out.GPUSeconds: n.GPUSeconds,
	} {
		*to = int64(v)
	}
	out.TotalQueued = out.Queued
	return out
}
