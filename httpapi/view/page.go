package view

import (
	"slices"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Page is the part of the queue that a request asks for.
type Page struct {
	View

	Limit  int // of each list; 0: none
	Skip   int // tasks on earlier pages
	User   string
	States []string // none: all

	Starts map[model.TaskKey]*wire.Range // expected starts of waiting tasks
	Bars   map[model.TaskKey]string      // what blocks them
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

// wants reports whether a job matches the request.
func (p *Page) wants(j *model.Job) bool {
	if p.User != "" && j.Spec.User != p.User {
		return false
	}
	if len(p.States) == 0 {
		return true
	}
	at, _ := p.Stand(j)
	return slices.Contains(p.States, at)
}

// Queued returns the waiting jobs and services, each in order; an array stands at the place of its
// first waiting task, unless tasks of it run. The next page begins after a number of tasks and
// services: if some of those have started meanwhile, it begins too late by as many.
func (p *Page) Queued() (list []wire.Job, services []wire.ServiceAllocation, next string) {
	list, services = []wire.Job{}, []wire.ServiceAllocation{}
	if len(p.States) > 0 && !slices.Contains(p.States, model.TaskQueued.String()) {
		return list, services, ""
	}
	var before model.JobID
	n := p.Skip
	for e := range queue.Order(p.State, p.Now, p.Skip) {
		if p.Limit > 0 && len(list)+len(services) == p.Limit {
			return list, services, strconv.Itoa(n)
		}
		n++
		if e.Service != "" {
			if a := p.waits(&e); p.User == "" || a.User == p.User {
				a.PlannedStart = p.Starts[e.Task]
				services = append(services, a)
			}
			continue
		}
		if e.Task.Job == before {
			continue
		}
		before = e.Task.Job
		j, _ := p.State.Jobs.Get(e.Task.Job)
		if j.Live > 0 || j.Array() && e.Task != p.firstQueued(&j) || !p.wants(&j) {
			continue
		}
		job := p.Job(&j)
		job.Position, job.PositionExact = e.Position, true
		if e.Held {
			job.Position, job.PositionExact = 0, false
		}
		job.PlannedStart = p.Starts[e.Task]
		job.Reason = p.whyYet(e.Task, job.Reason)
		list = append(list, job)
	}
	return list, services, ""
}

// whyYet returns why a task waits: its own reason, else what blocks it, after the reason why it was
// stopped if it ran before.
func (p *Page) whyYet(key model.TaskKey, own string) string {
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

// Running returns the jobs that run, oldest first.
func (p *Page) Running() []wire.Job {
	list := []wire.Job{}
	var before model.JobID
	for k := range p.State.Live() {
		if k.Job == before {
			continue
		}
		before = k.Job
		j, _ := p.State.Jobs.Get(k.Job)
		if !p.wants(&j) {
			continue
		}
		if p.Limit > 0 && len(list) == p.Limit {
			break
		}
		list = append(list, p.Job(&j))
	}
	return list
}

// Ended returns the jobs that ended last, newest first.
func (p *Page) Ended(most int) (list []wire.Job) {
	if most == 0 {
		return nil
	}
	for k := range p.State.Ended.Back() {
		j, _ := p.State.Jobs.Get(k.Job)
		if !p.wants(&j) {
			continue
		}
		if list = append(list, p.Job(&j)); len(list) == most {
			break
		}
	}
	return list
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
	for to, v := range map[*int64]uint64{
		&out.TotalJobs: n.Submitted, &out.Completed: n.Completed, &out.Failed: n.Failed, &out.Canceled: n.Canceled,
		&out.Attempts: n.Attempts, &out.LostAttempts: n.Lost, &out.Preempted: n.Preempted, &out.GPUSeconds: n.GPUSeconds,
	} {
		*to = int64(v)
	}
	out.TotalQueued = out.Queued
	return out
}
