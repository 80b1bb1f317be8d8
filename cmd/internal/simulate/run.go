package simulate

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/virtual"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Options describe a simulation.
type Options struct {
	Nodes       int
	GPUs        int    // of each node
	Hosts       []Host // in place of nodes that are alike; nil: those
	Policy      string // of sched.Policies or sched.Textbooks
	Tuning      model.Tuning
	Estimates   Estimates
	WholeNodes  bool          // a job of several nodes' worth of GPUs takes whole nodes, if the trace has no number of nodes
	Preemptible float64       // part of the jobs that may be suspended, 0 to 1; below 0: those that the trace marks
	RestartCost time.Duration // of a suspended job's next start
	From        time.Duration // since the trace's beginning: what came before is simulated and not measured
	Seed        uint64
	Notes
}

// Notes are the outputs of a simulation in addition to its figures.
type Notes struct {
	Log      io.Writer // what happens, line by line; nil: nowhere
	Foretell bool      // how far forecasts came true; makes a forecast for each job that waits
}

// Estimates describes the users' estimates of run times: the true one times a factor drawn evenly
// between Low and High, or none if both are 0. History keeps the names of jobs, so that the
// scheduler learns from earlier ones. Told: names and estimates are those of the trace.
type Estimates struct {
	Low, High float64
	History   bool
	Told      bool
}

// ParseEstimates parses exact, none, history and xLOW..HIGH, such as x1..9.
func ParseEstimates(text string) (Estimates, error) {
	switch text {
	case "exact":
		return Estimates{Low: 1, High: 1}, nil
	case "none":
		return Estimates{}, nil
	case "history":
		return Estimates{History: true}, nil
	}
	wrong := fmt.Errorf("estimates %q must be exact, none, history or xLOW..HIGH, such as x1..9", text)
	factors, is := strings.CutPrefix(text, "x")
	low, high, two := strings.Cut(factors, "..")
	if !is || !two {
		return Estimates{}, wrong
	}
	var e Estimates
	var err [2]error
	e.Low, err[0] = strconv.ParseFloat(low, 64)
	e.High, err[1] = strconv.ParseFloat(high, 64)
	if errors.Join(err[:]...) != nil || !(e.Low > 0 && e.Low <= e.High && e.High <= 1000) {
		return Estimates{}, wrong
	}
	return e, nil
}

// live is a job that was submitted and has not ended.
type live struct {
	*Job

	n         int // its place in the trace
	task      model.TaskKey
	done      time.Duration // of its work, in earlier attempts
	attempt   model.AttemptKey
	started   model.Time // of the attempt; 0: it waits
	cost      time.Duration
	ends      model.Time
	stopped   int
	place     int // in the heap of ends; -1: not there
	firstRun  model.Time
	hasBefore bool
}

// worked returns how much of a job's work is done.
func (j *live) worked(now model.Time) time.Duration {
	if j.started == 0 {
		return j.done
	}
	return j.done + max(now.Sub(j.started)-j.cost, 0)
}

// Run is one simulation of a trace.
type Run struct {
	options Options
	cluster *virtual.World
	trace   []Job
	next    int // job of the trace to come
	jobs    map[model.TaskKey]*live
	demand  uint64 // their GPUs
	ends    ends
	random  *rand.Rand
	measure *measure
	tick    model.Time
	whole   uint32 // GPUs of the largest node, if jobs of several nodes' GPUs take whole ones; else 0
	*foretells
}

// Play simulates a trace, which is in order of submission.
func Play(ctx context.Context, trace []Job, o Options) (*Result, error) {
	c, err := newCluster(&o)
	if err != nil {
		return nil, err
	}
	r := &Run{
		options: o, cluster: c, trace: trace, jobs: map[model.TaskKey]*live{},
		random: rand.New(rand.NewPCG(o.Seed, 0)), measure: newMeasure(total(o.hosts()), o.From), //nolint:gosec // virtual chance
	}
	if o.WholeNodes {
		r.whole = uint32(largest(o.hosts()))
	}
	if o.Foretell {
		r.foretells = &foretells{starts: map[model.TaskKey]forecast.Range{}}
	}
	if err := r.possible(); err != nil {
		return nil, err
	}
	for r.next < len(trace) || len(r.jobs) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := r.step(); err != nil {
			return nil, err
		}
	}
	out := r.measure.result(r.cluster.Now.Sub(begin))
	out.Policy, out.Backfill, out.Foretold = o.Policy, backfillOf(&o.Tuning), r.foretells.result()
	return out, nil
}

// step goes to the next event and handles it.
func (r *Run) step() error {
	at := model.Time(1<<63 - 1)
	if r.next < len(r.trace) {
		at = begin.Add(r.trace[r.next].Submit)
	}
	if len(r.ends) > 0 {
		at = min(at, r.ends[0].ends)
	}
	if r.tick > r.cluster.Now {
		at = min(at, r.tick)
	}
	switch {
	case at == 1<<63-1:
		return fmt.Errorf("%d jobs wait and nothing runs; the first is %s: %w", len(r.jobs), r.waiting(), virtual.ErrDefect)
	case at > begin.Add(century):
		return fmt.Errorf("the simulation exceeds a hundred years: give more nodes, or a lower cost of restarts")
	}
	r.measure.advance(r, at)
	r.cluster.Now = max(at, r.cluster.Now)
	if err := r.cluster.Must(&command.AdvanceClock{}); err != nil {
		return err
	}
	for len(r.ends) > 0 && r.ends[0].ends <= at {
		if err := r.complete(r.ends[0]); err != nil {
			return err
		}
	}
	var submitted []*live
	for r.next < len(r.trace) && begin.Add(r.trace[r.next].Submit) <= at {
		j, err := r.submit()
		if err != nil {
			return err
		}
		submitted = append(submitted, j)
	}
	if err := r.pass(); err != nil {
		return err
	}
	r.foretells.ask(r, submitted)
	return nil
}

func (r *Run) waiting() string {
	for k := range r.cluster.State.Queue.All() {
		if e, waits := explain.Task(&r.cluster.State, r.cluster.Now, k.Task); waits {
			return k.Task.String() + ": " + e.Summary
		}
	}
	return "none"
}

func (r *Run) submit() (*live, error) {
	j := &live{Job: &r.trace[r.next], n: r.next, place: -1}
	r.next++
	spec, err := specOf(j.Job, r.whole)
	if err != nil {
		return nil, err
	}
	spec.Name = "job-" + strconv.Itoa(j.n)
	if slices.Contains(queue.Textbooks(), r.options.Policy) {
		spec.Project = spec.Name // so that each has its own place in the order
	}
	if e := r.options.Estimates; e.Told {
		spec.Name, spec.Estimate = j.Told.Name, j.Told.Estimate
	} else if e.High > 0 {
		guess := float64(j.Duration) * (e.Low + (e.High-e.Low)*r.random.Float64())
		spec.Estimate = time.Duration(min(guess, float64(model.MaxDuration)))
	} else if e.History {
		spec.Name = "job"
	}
	spec.Preemptible = r.random.Float64() < r.options.Preemptible || r.options.Preemptible < 0 && j.Told.Preemptible
	results, err := r.cluster.Apply(&command.Submit{Spec: spec, Tasks: 1})
	if err != nil {
		return nil, err
	}
	if !results[0].OK() {
		return nil, fmt.Errorf("%s was refused: %s", j.Job, results[0].Detail)
	}
	j.task = model.TaskKey{Job: results[0].Job}
	r.jobs[j.task] = j
	r.demand += uint64(j.GPUs)
	r.log("submit", j)
	return j, nil
}

func (r *Run) complete(j *live) error {
	heap.Remove(&r.ends, j.place)
	if err := r.cluster.End(j.attempt, model.Exit{Ran: r.cluster.Now.Sub(j.started)}); err != nil {
		return err
	}
	r.log("end", j)
	r.measure.ended(j.Job, r.cluster.Now.Sub(begin))
	delete(r.jobs, j.task)
	r.demand -= uint64(j.GPUs)
	return nil
}

// maxRounds bounds the plans of one instant.
const maxRounds = 10_000

// pass asks the scheduler for commands until it has no more.
func (r *Run) pass() error {
	for range maxRounds {
		begun := time.Now()
		plan, next := sched.Plan(&r.cluster.State, r.cluster.Now)
		r.measure.planned(time.Since(begun))
		if len(plan) == 0 {
			r.tick = next
			return nil
		}
		if err := r.cluster.Must(plan...); err != nil {
			return err
		}
		for _, b := range plan {
			if err := r.follow(b); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("the scheduler does not come to an end at one instant: %w", virtual.ErrDefect)
}

// follow does what agents do after a command.
func (r *Run) follow(b command.Body) error {
	switch b := b.(type) {
	case *command.Place:
		return r.start(b.Attempt)
	case *command.Suspend:
		return r.suspendAll(b.Attempts, "suspend")
	case *command.Preempt:
		return r.suspendAll(b.Victims, "preempt")
	}
	return nil
}

// suspendAll stops attempts, and logs them under an event.
func (r *Run) suspendAll(attempts []model.AttemptKey, event string) error {
	for _, a := range attempts {
		if err := r.suspend(r.jobs[a.TaskKey()], event); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) start(a model.AttemptKey) error {
	j := r.jobs[a.TaskKey()]
	j.attempt, j.started, j.cost = a, r.cluster.Now, 0
	if j.hasBefore {
		j.cost = r.options.RestartCost
	} else {
		j.firstRun, j.hasBefore = r.cluster.Now, true
		r.foretells.started(j.task, r.cluster.Now)
	}
	j.ends = r.cluster.Now.Add(j.cost + j.Duration - j.done)
	heap.Push(&r.ends, j)
	r.log("start", j)
	return r.cluster.Start(a)
}

func (r *Run) suspend(j *live, event string) error {
	heap.Remove(&r.ends, j.place)
	ran := r.cluster.Now.Sub(j.started)
	r.log(event, j)
	j.done, j.started = j.worked(r.cluster.Now), 0
	j.stopped++
	r.measure.preemptions++
	return r.cluster.End(j.attempt, model.Exit{Signal: 15, Delivered: model.ReasonPreempt, Ran: ran})
}

// ends is the heap of running jobs, by their end.
type ends []*live

// Len returns how many run.
func (e ends) Len() int { return len(e) }

// Less orders by end, then by place in the trace.
func (e ends) Less(i, j int) bool {
	if e[i].ends != e[j].ends {
		return e[i].ends < e[j].ends
	}
	return e[i].n < e[j].n
}

// Swap swaps two jobs.
func (e ends) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].place, e[j].place = i, j
}

// Push adds a job.
func (e *ends) Push(x any) {
	if j, ok := x.(*live); ok {
		j.place = len(*e)
		*e = append(*e, j)
	}
}

// Pop removes and returns the last job.
func (e *ends) Pop() any {
	old := *e
	j := old[len(old)-1]
	j.place = -1
	*e = old[:len(old)-1]
	return j
}
