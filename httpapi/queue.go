package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// queues shows the queue as a whole.
type queues struct{ api *API }

// queueInput is the input of GET /queue.
type queueInput struct {
	Watch
	Limit int    `query:"limit" minimum:"1" maximum:"100000" doc:"the most entries of each list; all by default"`
	After string `query:"after" maxLength:"64" doc:"next of the previous page"`
	User  string `query:"user" maxLength:"128" doc:"of this user only"`
	State string `query:"state" maxLength:"64" doc:"in this state only; several are separated by commas"`
	Ended int    `query:"ended" minimum:"0" maximum:"10000" doc:"the number of jobs that ended last"`

	IfNoneMatch string `header:"If-None-Match" maxLength:"1024" doc:"the ETag of an earlier answer: 304 while no job has changed"`
}

// watchInput is the input of a read without parameters of its own.
type watchInput struct{ Watch }

func (a queues) route(doc huma.API) {
	handle(a.api, doc, op("queue", http.MethodGet, "/queue", "The waiting jobs, in order, and the running ones"), a.queue)
	handle(a.api, doc, op("queue-statistics", http.MethodGet, "/queue/statistics", "Counts over the cluster's life"),
		func(ctx context.Context, in *watchInput) (*answer[wire.Statistics], error) {
			s, err := a.api.read(ctx, &in.Watch, topics(model.TopicJob, model.TopicQueue, model.TopicSettings), nil)
			if err != nil {
				return nil, err
			}
			out := statisticsOf(&s, a.api.places.rate(&s))
			return &answer[wire.Statistics]{Index: s.Index, Body: &out}, nil
		})
	handle(a.api, doc, op("orchestrator", http.MethodGet, "/orchestrator/status", "Whether jobs are started, and the counts of the scheduler"),
		func(ctx context.Context, in *watchInput) (*answer[wire.Orchestrator], error) {
			s, err := a.api.read(ctx, &in.Watch, topics(model.TopicSettings, model.TopicQueue, model.TopicFleet), nil)
			if err != nil {
				return nil, err
			}
			return &answer[wire.Orchestrator]{Index: s.Index, Body: a.api.orchestrator(ctx, &s)}, nil
		})
}

// page is the part of the queue that a request asks for.
type page struct {
	view

	limit  int // of each list; 0: none
	skip   int // tasks on earlier pages
	user   string
	states []string // none: all

	starts map[model.TaskKey]*wire.Range // expected starts of waiting tasks
	bars   map[model.TaskKey]string      // what blocks them
}

func (a queues) queue(ctx context.Context, in *queueInput) (*answer[wire.Queue], error) {
	p, err := in.page()
	if err != nil {
		return nil, err
	}
	s, err := a.api.read(ctx, &in.Watch, topics(model.TopicQueue, model.TopicJob), nil)
	if err != nil {
		return nil, err
	}
	tag := tagOf(&s, topics(model.TopicQueue, model.TopicJob, model.TopicSettings))
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	p.view = a.api.viewFor(ctx, &s, &s, a.api.now(&s))
	if s.Queue.Len() > 0 {
		p.starts, p.bars = startsOf(a.api.places.foresee(&s, p.now))
	}
	out := &wire.Queue{Running: []wire.Job{}, Services: []wire.ServiceAllocation{}, Statistics: statisticsOf(&s, a.api.places.rate(&s)), Policy: s.Settings().Policy}
	out.Queued, out.Services, out.Next = p.queued()
	hideAddresses(ctx, out.Services)
	if p.skip == 0 {
		out.Running = p.running()
		out.Ended = p.ended(in.Ended)
	}
	out.QueuedJobs = p.brief(out.Queued)
	return &answer[wire.Queue]{Index: s.Index, ETag: tag, Body: out}, nil
}

// startsOf returns when waiting tasks are expected to start, and what blocks them until then, by
// task.
func startsOf(f *sched.Forecast) (starts map[model.TaskKey]*wire.Range, bars map[model.TaskKey]string) {
	starts, bars = make(map[model.TaskKey]*wire.Range, len(f.Waiting)), make(map[model.TaskKey]string, len(f.Waiting))
	for i := range f.Waiting {
		c := &f.Waiting[i]
		starts[c.Task], bars[c.Task] = rangeOf(c.Start), string(c.Bar)
	}
	return starts, bars
}

// brief converts the waiting jobs to the form of experiment trackers.
func (p *page) brief(list []wire.Job) []wire.QueuedJob {
	out := make([]wire.QueuedJob, 0, len(list))
	for i := range list {
		j := &list[i]
		q := wire.QueuedJob{ID: j.ID, RunID: j.RunID, User: j.User, Priority: j.Priority, GPUs: j.GPUs, QueuedAt: j.SubmittedAt}
		if j.PlannedStart != nil {
			wait := seconds(j.PlannedStart.Expected.Sub(p.now.Time()))
			q.Wait = &wait
		}
		out = append(out, q)
	}
	return out
}

// page returns the part of the queue that the request asks for, without its state.
func (in *queueInput) page() (page, error) {
	p := page{limit: in.Limit, user: in.User}
	if in.After != "" {
		n, err := strconv.ParseUint(in.After, 10, 32)
		if err != nil {
			return p, invalid("after", "must be the next of a page before")
		}
		p.skip = int(n) //nolint:gosec // 32 bits
	}
	var err error
	p.states, err = statesOf(in.State)
	return p, err
}

// statesOf parses a list of states; empty: no states are picked.
func statesOf(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	list := strings.Split(strings.ToLower(text), ",")
	for _, s := range list {
		if !slices.Contains(stateNames(), s) {
			return nil, invalid("state", "must be one of "+strings.Join(stateNames(), ", "))
		}
	}
	return list, nil
}

func stateNames() (names []string) {
	for s := model.TaskQueued; s <= model.TaskCanceled; s++ {
		names = append(names, s.String())
	}
	return names
}

// wants reports whether a job matches the request.
func (p *page) wants(j *model.Job) bool {
	if p.user != "" && j.Spec.User != p.user {
		return false
	}
	if len(p.states) == 0 {
		return true
	}
	at, _ := p.stand(j)
	return slices.Contains(p.states, at)
}

// queued returns the waiting jobs and services, each in order; an array stands at the place of its
// first waiting task, unless tasks of it run. The next page begins after a number of tasks and
// services: if some of those have started meanwhile, it begins too late by as many.
func (p *page) queued() (list []wire.Job, services []wire.ServiceAllocation, next string) {
	list, services = []wire.Job{}, []wire.ServiceAllocation{}
	if len(p.states) > 0 && !slices.Contains(p.states, model.TaskQueued.String()) {
		return list, services, ""
	}
	var before model.JobID
	n := p.skip
	for e := range queue.Order(p.s, p.now, p.skip) {
		if p.limit > 0 && len(list)+len(services) == p.limit {
			return list, services, strconv.Itoa(n)
		}
		n++
		if e.Service != "" {
			if a := p.waits(&e); p.user == "" || a.User == p.user {
				a.PlannedStart = p.starts[e.Task]
				services = append(services, a)
			}
			continue
		}
		if e.Task.Job == before {
			continue
		}
		before = e.Task.Job
		j, _ := p.s.Jobs.Get(e.Task.Job)
		if j.Live > 0 || j.Array() && e.Task != p.firstQueued(&j) || !p.wants(&j) {
			continue
		}
		job := p.job(&j)
		job.Position, job.PositionExact = e.Position, true
		if e.Held {
			job.Position, job.PositionExact = 0, false
		}
		job.PlannedStart = p.starts[e.Task]
		job.Reason = p.whyYet(e.Task, job.Reason)
		list = append(list, job)
	}
	return list, services, ""
}

// whyYet returns why a task waits: its own reason, else what blocks it, after the reason why it was
// stopped if it ran before.
func (p *page) whyYet(key model.TaskKey, own string) string {
	bar := p.bars[key]
	switch t, _ := p.s.Tasks.Get(key); {
	case own == "" || bar == "":
		return own + bar
	case t.Attempts > 0 && !t.Held && t.NotBefore <= p.now:
		return own + "; " + bar
	}
	return own
}

// firstQueued returns the first waiting task of an array.
func (p *page) firstQueued(j *model.Job) model.TaskKey {
	for k, t := range p.s.Tasks.From(model.TaskKey{Job: j.ID}) {
		if k.Job != j.ID || t.State == model.TaskQueued {
			return k
		}
	}
	return model.TaskKey{}
}

// running returns the jobs that have GPUs, oldest first.
func (p *page) running() []wire.Job {
	list := []wire.Job{}
	var before model.JobID
	for k := range p.s.LiveTasks.All() {
		if k.Job == before {
			continue
		}
		before = k.Job
		j, _ := p.s.Jobs.Get(k.Job)
		if !p.wants(&j) {
			continue
		}
		if p.limit > 0 && len(list) == p.limit {
			break
		}
		list = append(list, p.job(&j))
	}
	return list
}

// ended returns the jobs that ended last, newest first.
func (p *page) ended(most int) (list []wire.Job) {
	if most == 0 {
		return nil
	}
	for k := range p.s.Ended.Back() {
		j, _ := p.s.Jobs.Get(k.Job)
		if !p.wants(&j) {
			continue
		}
		if list = append(list, p.job(&j)); len(list) == most {
			break
		}
	}
	return list
}

// statisticsOf counts what the cluster has done; rate is how many tasks ended in the last hour.
func statisticsOf(s *state.State, rate float64) wire.Statistics {
	n := s.Settings().Totals
	use, _ := s.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	wait := 0.0
	if n.Started > 0 {
		wait = seconds(n.Waited / time.Duration(n.Started)) //nolint:gosec // far below
	}
	out := wire.Statistics{
		Queued: int64(use.Queued), Running: int64(use.Live),
		AverageWaitTime: wait, AverageWaitSeconds: wait, QueueThroughput: rate, JobsPerHour: rate,
	}
	for to, v := range map[*int64]uint64{
		&out.TotalJobs: n.Submitted, &out.Completed: n.Completed, &out.Failed: n.Failed, &out.Canceled: n.Canceled,
		&out.Attempts: n.Attempts, &out.LostAttempts: n.Lost, &out.Preempted: n.Preempted, &out.GPUSeconds: n.GPUSeconds,
	} {
		*to = int64(v) //nolint:gosec // counts
	}
	out.TotalQueued = out.Queued
	return out
}

// orchestrator returns whether jobs are started, and the counts of the scheduler.
func (a *API) orchestrator(ctx context.Context, s *state.State) *wire.Orchestrator {
	set, n, known := s.Settings(), statisticsOf(s, a.places.rate(s)), a.samples.get(ctx)
	leader, _ := a.peer.Members.Leader()
	out := &wire.Orchestrator{
		Running: set.Running && !set.Standstill, Policy: set.Policy, Leader: string(leader.ID),
		Stats: wire.SchedStats{
			JobsScheduled: n.Attempts, JobsCompleted: n.Completed, JobsFailed: n.Failed,
			SchedulingCycles: int64(known.Passes), //nolint:gosec // a count
		},
		ResourceSummary: resources(s),
		QueueSummary: wire.QueueSummary{
			TotalJobs: n.TotalJobs, Queued: n.Queued, Running: n.Running, Completed: n.Completed, Failed: n.Failed, Canceled: n.Canceled,
		},
	}
	if known.Passes > 0 {
		out.AveragePassMicro = tenths(float64(known.PassesTook.Microseconds()) / float64(known.Passes))
	}
	return out
}
