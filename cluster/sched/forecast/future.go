package forecast

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/reserve"
	"github.com/berth-gpu/berth/cluster/sched/virtual"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Bounds of how far the scheduler itself is played forward: runs, jobs and GPUs that its passes
// look at, passes of one instant, and the time.
const (
	futureWork   = 1 << 14
	futurePasses = 16 // if the work allows fewer passes, the scheduler is not played forward at all
	futureRounds = 64
	futureEnd    = 10 * 366 * 24 * time.Hour
)

// fineness is the precision for what changes with time alone: one part in so many of the time foreseen.
const fineness = 16

// future is the cluster as it is expected to develop: the scheduler makes its passes, and what it starts runs
// for as long as expected.
type future struct {
	virtual.World

	since  model.Time
	left   reserve.Pace
	runs   map[model.TaskKey]time.Duration // for how long started tasks run in all
	begun  map[model.TaskKey]Course        // of tasks that waited: where and when they started first
	ended  map[model.TaskKey]model.Time    // when the last attempts of tasks have ended
	pauses pauses
	events events
	due    model.Time // when the next change is due that is known in advance; 0: never
	work   int
	lines  int   // runs of the queue
	over   error // why it goes no further: errNothing, or what could not be played; nil: it is done, or out of work
}

var errNothing = errors.New("nothing more is to come")

// playOn plays the scheduler forward until the given number of waiting tasks have started, no suspension is under
// way and all reservations are over. It ends earlier if nothing more will happen or the work is used up.
func playOn(p *pass.Pass, left reserve.Pace, starts, work int) *future {
	f := &future{
		World: virtual.World{State: *p.State, Now: p.Now, By: "forecast"}, since: p.Now, left: left,
		runs: map[model.TaskKey]time.Duration{}, begun: map[model.TaskKey]Course{}, ended: map[model.TaskKey]model.Time{},
		pauses: pauses{},
	}
	for range queue.Heads(&f.State) {
		f.lines++
	}
	set := f.State.Settings()
	more := func() bool { return len(f.begun) < starts || f.pauses.toCome(f.Now) || booked(&f.State, f.Now) }
	if !more() || !set.Running || set.Standstill || f.cost() > work/futurePasses {
		return f
	}
	for f.over = f.open(); f.over == nil && more() && f.work < work; {
		if f.over = f.pass(); f.over == nil {
			f.over = f.next()
		}
	}
	return f
}

// played reports whether the scheduler was played forward, so that the cluster is no longer as it was.
func (f *future) played() bool { return f.work > 0 }

// defect returns what could not be played forward; nil: nothing.
func (f *future) defect() error {
	if errors.Is(f.over, errNothing) {
		return nil
	}
	return f.over
}

// cost returns how much a pass looks at.
func (f *future) cost() int {
	s := &f.State
	return f.lines + min(s.Queue.Len(), s.Slots.Len()) + s.LiveTasks.Len() + s.LiveCPU.Len() + s.Slots.Len()
}

// endOf returns when a live attempt is expected to end.
func (f *future) endOf(task *model.Task, a *model.Attempt) model.Time {
	if a.Stop != model.ReasonNone {
		return f.Now.Add(stopsIn(a, f.Now))
	}
	job, _ := f.State.Jobs.Get(a.Key.Job)
	return reserve.ByDeadline(&job.Spec, f.Now, f.Now.Add(max(f.runsFor(task, a)-admission.Executed(task, a, f.Now), admission.LeastRun)))
}

// runsFor returns for how long a task with a live attempt is expected to run in all.
func (f *future) runsFor(task *model.Task, a *model.Attempt) time.Duration {
	if runs, known := f.runs[task.Key]; known {
		return runs
	}
	job, _ := f.State.Jobs.Get(task.Key.Job)
	had := admission.Executed(task, a, f.Now)
	return had + f.left(&job.Spec, had)
}

// open starts what is under way: placed attempts run, and GPUs that are being cleaned become clean soon.
func (f *future) open() error {
	s := f.State
	if err := f.Must(&command.AdvanceClock{}); err != nil {
		return err
	}
	for key := range s.Live() {
		task, _ := s.Tasks.Get(key)
		a, _ := s.Attempts.Get(task.Newest())
		if a.Stop != model.ReasonNone {
			f.runs[key] = f.runsFor(&task, &a)
			f.stop(a.Key)
		} else if err := f.runOn(&task, &a); err != nil {
			return err
		}
	}
	for _, slot := range s.Slots.All() {
		if slot.Owner == model.OwnerCleaning {
			f.after(reserve.Soon, event{cleans: slot})
		}
	}
	for id, a := range s.Allocations.All() {
		if a.State == model.AllocationActive && a.Expires > 0 {
			f.after(max(a.Expires.Sub(f.Now), reserve.Soon), event{service: id})
		}
	}
	return nil
}

// runOn lets a live attempt run until its expected end.
func (f *future) runOn(task *model.Task, a *model.Attempt) error {
	if a.State != model.TaskRunning {
		if err := f.Start(a.Key); err != nil {
			return err
		}
		*a, _ = f.State.Attempts.Get(a.Key)
	}
	ends := f.endOf(task, a)
	f.runs[task.Key] = admission.Executed(task, a, ends)
	f.after(ends.Sub(f.Now), event{attempt: a.Key})
	return nil
}

// pass makes passes of the scheduler at this instant, until one returns no commands.
func (f *future) pass() error {
	for range futureRounds {
		f.work += f.cost()
		p := sched.NewPlanner(&f.State, f.Now)
		p.Run()
		if len(p.Commands) == 0 {
			f.due = p.Due()
			return nil
		}
		if err := f.Must(p.Commands...); err != nil {
			return err
		}
		for _, b := range p.Commands {
			if err := f.follow(b); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("the scheduler wants ever more at one instant: %w", virtual.ErrDefect)
}

// follow does what agents do after a command.
func (f *future) follow(b command.Body) error {
	switch b := b.(type) {
	case *command.Place:
		task, _ := f.State.Tasks.Get(b.Attempt.TaskKey())
		a, _ := f.State.Attempts.Get(b.Attempt)
		f.begin(task.Key, b.Ranks)
		return f.runOn(&task, &a)
	case *command.Grant:
		a, _ := f.State.Allocations.Get(b.ID)
		f.begin(a.Turn, []command.Placement{b.Placement})
		if a.Expires > 0 {
			f.after(max(a.Expires.Sub(f.Now), reserve.Soon), event{service: b.ID})
		}
	case *command.Suspend:
		f.stop(b.Attempts...)
	case *command.Preempt:
		f.stop(b.Victims...)
	}
	return nil
}

// stop adds the ends of attempts that are being stopped, and the pauses of those that are preempted.
func (f *future) stop(attempts ...model.AttemptKey) {
	for _, key := range attempts {
		a, _ := f.State.Attempts.Get(key)
		long := stopsIn(&a, f.Now)
		f.after(long, event{attempt: key})
		if a.Stop == model.ReasonPreempt {
			f.pauses.begin(key.TaskKey(), f.Now.Add(long))
		}
	}
}

// cleans is how long GPUs are expected to take to be shown clean once their processes have ended.
const cleans = 5 * time.Second

// stopsIn returns for how long an attempt that was asked to stop is expected to keep its GPUs: for
// what is left of its graces, and until the GPUs are clean.
func stopsIn(a *model.Attempt, now model.Time) time.Duration {
	return max(a.Frozen.CheckpointGrace+a.Frozen.Grace-now.Sub(a.StopAt), 0) + cleans
}

// begin adds the first start of a task that waited, and ends the pause of a task that was suspended.
func (f *future) begin(key model.TaskKey, ranks []command.Placement) {
	f.pauses.end(key, f.Now)
	if _, ran := f.runs[key]; ran {
		return
	}
	c := Course{GPUs: pass.GPUsOf(ranks)}
	for i := range ranks {
		c.Nodes = append(c.Nodes, ranks[i].Node)
	}
	c.Start.Expected = f.Now
	f.begun[key] = c
}

// next goes on to the next instant at which something happens or another pass is due.
func (f *future) next() error {
	at := f.due
	if len(f.events) > 0 {
		at = pass.Sooner(at, f.events[0].at)
	}
	at = pass.Sooner(at, f.chores())
	if at == 0 || at.Sub(f.since) > futureEnd {
		return errNothing
	}
	f.Now = max(min(at, f.Now.Add(max(sched.Again, f.Now.Sub(f.since)/fineness))), f.Now)
	bodies := []command.Body{&command.AdvanceClock{}}
	for len(f.events) > 0 && f.events[0].at <= f.Now {
		if e, is := heap.Pop(&f.events).(event); is {
			bodies = append(bodies, f.happens(&e)...)
		}
	}
	if err := f.Must(bodies...); err != nil {
		return err
	}
	return f.housekeeping()
}

// happens returns what nodes would report of an event.
func (f *future) happens(e *event) []command.Body {
	switch {
	case e.service != "":
		return virtual.Releases(&f.State, e.service)
	case e.cleans.Node != "":
		b := virtual.Report(&f.State, e.cleans.Node)
		b.Cleaned = []model.Cleaned{{Slot: e.cleans.Key, Rank: e.cleans.Rank, Allocation: e.cleans.Allocation}}
		return []command.Body{b}
	}
	a, _ := f.State.Attempts.Get(e.attempt)
	if !a.Live() {
		return nil // the attempt was suspended before
	}
	f.ended[a.Key.TaskKey()] = f.Now
	var exit model.Exit
	if a.Started > 0 {
		exit.Ran = f.Now.Sub(a.Started)
	}
	if a.Stop != model.ReasonNone {
		exit.Signal, exit.Delivered = 15, a.Stop
	}
	return virtual.Ends(&f.State, a.Key, exit)
}

// event is what happens at an instant; one of the other fields is set.
type event struct {
	at      model.Time
	attempt model.AttemptKey // ends
	service model.AllocationID
	cleans  model.Slot
}

func (f *future) after(d time.Duration, e event) {
	e.at = f.Now.Add(d)
	heap.Push(&f.events, e)
}

// events is a heap of events, by instant.
type events []event

// Len returns the number of events.
func (e events) Len() int { return len(e) }

// Less reports whether one event comes before another: by instant, then by what the events are about.
func (e events) Less(i, j int) bool {
	a, b := &e[i], &e[j]
	return cmp.Or(cmp.Compare(a.at, b.at), a.attempt.TaskKey().Compare(b.attempt.TaskKey()), cmp.Compare(a.attempt.N, b.attempt.N),
		cmp.Compare(a.service, b.service), a.cleans.Key.Compare(b.cleans.Key)) < 0
}

// Swap swaps two events.
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push adds an event.
func (e *events) Push(x any) {
	if v, is := x.(event); is {
		*e = append(*e, v)
	}
}

// Pop removes the last event.
func (e *events) Pop() any {
	old := *e
	v := old[len(old)-1]
	*e = old[:len(old)-1]
	return v
}
