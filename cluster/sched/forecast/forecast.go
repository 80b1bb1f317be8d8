package forecast

import (
	"cmp"
	"iter"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/reserve"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Forecast is what is expected of the future if nothing else is submitted. A forecast
// is a guess: it depends on how long jobs are expected to run. A forecast plays the scheduler
// forward with all that the scheduler does, such as suspensions, kept GPUs and the next period of
// a quota. On large clusters, and beyond some hundred passes, tasks are assumed to get GPUs in
// the order of that time, as soon as the GPUs are expected to be free for as long as the tasks
// need them; the scheduler may do better.
type Forecast struct {
	At      model.Time
	Running []Course // by task
	Waiting []Course // in order
	Beyond  int      // tasks that wait behind these, without a forecast
	Starts  bool     // the scheduler starts jobs; false: it is unknown when waiting tasks will start
	Defect  error    // what the scheduler could not play forward; nil: nothing
}

// Course is what is expected of one task, or of a service that waits.
type Course struct {
	Task     model.TaskKey
	Service  model.AllocationID // empty: it is a task
	Position int                // of a waiting task, as of [queue.Position]; 0: the task runs or is held
	GPUs     uint32
	Nodes    []model.NodeID
	Start    Range        // if it waits; Known is false while Why keeps it from starting at any time
	End      Range        // not known for a service
	Why      blocker.Code // the blocker other than GPUs that has to end first; empty: none
	Bar      blocker.Code // the blocker now that explanations list first; empty: there is none, or it runs
	Late     bool         // the task is not expected to start before its deadline, which ends the task
	Pauses   []Pause
}

// Range is when something is expected: at Soonest if the runs before it are as short as the shortest quarter of
// like runs, at Latest if these runs are as long as nine in ten like runs.
type Range struct {
	Known                     bool
	Soonest, Expected, Latest model.Time
}

// maxForeseen bounds the waiting tasks of a forecast. foreseeWork bounds the number of these tasks times the
// GPUs in use, which keeps a forecast to a fraction of a second.
const (
	maxForeseen = 256
	foreseeWork = 1 << 19
)

// Foresee makes a forecast for s at the time now.
func Foresee(s *state.State, now model.Time) Forecast { return ForeseeWithin(s, now, futureWork) }

// ForeseeWithin makes a forecast that plays the scheduler forward for the given work at each pace: the jobs, GPUs
// and runs that its passes look at. With 0 it assumes that tasks get GPUs in order, as on the largest clusters.
func ForeseeWithin(s *state.State, now model.Time, work int) Forecast {
	now = max(now, s.Settings().Clock)
	set := s.Settings()
	f := Forecast{At: now, Starts: set.Running && !set.Standstill}
	atOnce := sched.NewPlanner(s, now)
	line := f.line(atOnce.Pass)
	atOnce.StartClaimants(true)
	atOnce.Fill()
	atOnce.StartOnCores()
	least, like, most := newProspect(atOnce, quick(s), line, work), newProspect(atOnce, usual(s), line, work),
		newProspect(atOnce, slow(s), line, work)
	f.Defect = cmp.Or(least.defect(), like.defect(), most.defect())
	for key := range s.Live() {
		task, _ := s.Tasks.Get(key)
		a, _ := s.Attempts.Get(task.Newest())
		c := Course{Task: key, GPUs: a.GPUs, Pauses: like.pausesOf(key), End: rangeOf(least.end(key), like.end(key), most.end(key))}
		for _, r := range s.RanksOf(a.Key) {
			c.Nodes = append(c.Nodes, r.Node)
		}
		f.Running = append(f.Running, c)
	}
	fresh := place.NewCapacity(s)
	for _, v := range line {
		c, x, y := like.course(v.task), least.course(v.task), most.course(v.task)
		c.Task, c.Service, c.Position = v.task, admission.TicketOf(s, v.task).Service, v.position
		c.Start = rangeOf(c.unless(x), c.Start.Expected, c.unless(y))
		if c.End = (Range{}); c.Service == "" && !c.Late {
			c.End, c.Pauses = rangeOf(least.end(v.task), like.end(v.task), most.end(v.task)), like.pausesOf(v.task)
		}
		if c.Why == "" && (c.Start.Expected > now || !c.Start.Known) {
			c.Why = hindrance(atOnce.Pass, v.task)
		}
		c.Bar = bar(atOnce, v.task, fresh)
		c.Late = c.Late && f.Starts && c.Why != blocker.CodeHeld // otherwise a user has to change something
		if !f.Starts {
			c.standStill(&set)
		}
		f.Waiting = append(f.Waiting, c)
	}
	return f
}

// hindrance returns the first blocker of a waiting task other than GPUs; empty: none.
func hindrance(p *pass.Pass, key model.TaskKey) blocker.Code {
	for b := range p.Blockers(admission.TicketOf(p.State, key)) {
		return b.Code
	}
	return ""
}

// bar returns the first blocker that keeps a waiting task from starting now; empty: none.
func bar(p *sched.Planner, key model.TaskKey, fresh *place.Capacity) blocker.Code {
	if p.Done[key] {
		return ""
	}
	t := admission.TicketOf(p.State, key)
	for b := range p.Blockers(t) {
		return b.Code
	}
	if t.Job.Spec.WithoutGPUs() {
		return p.WhyNoRoom(t).Code
	}
	w := p.RequestOf(t)
	return p.WhyNoGPUs(&w, fresh)[0].Code
}

// waitingTask is a waiting task, and its position in the order; 0: the task is held.
type waitingTask struct {
	task     model.TaskKey
	position int
}

// line returns the waiting tasks that a forecast covers, in order: those with GPUs, then those without.
func (f *Forecast) line(p *pass.Pass) (line []waitingTask) {
	most := min(maxForeseen, foreseeWork/(len(p.Timetable.ExpectedReleases())+1)+1)
	for _, keys := range []iter.Seq2[state.QueueKey, bool]{queue.Keys(p.Order), queue.CPUKeys(p.Order)} {
		position, end := 1, len(line)+most
		for key, held := range keys {
			if len(line) == end {
				break
			}
			v := waitingTask{key.Task, position}
			if held {
				v.position = 0
			} else {
				position++
			}
			line = append(line, v)
		}
	}
	use, _ := p.State.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	f.Beyond = int(use.Queued) + p.State.Waiting.Len() - len(line) // services wait in the queue, too
	return line
}

// prospect is the future at one pace: first the scheduler is played forward, then tasks start in order.
type prospect struct {
	*future

	rest map[model.TaskKey]Course // of the tasks that wait then
}

// newProspect plays the future of the tasks in line, at one pace.
func newProspect(atOnce *sched.Planner, left reserve.Pace, line []waitingTask, work int) *prospect {
	starts := 0
	for _, v := range line {
		if task, _ := atOnce.State.Tasks.Get(v.task); !task.Held {
			starts++
		}
	}
	p := &prospect{future: playOn(atOnce.Pass, left, starts, work)}
	if p.State.Queue.Len()+p.State.CPUQueue.Len() > 0 || len(p.begun) < len(line) {
		p.rest = restOf(p.future, atOnce, line)
	}
	return p
}

// course returns what is expected of a waiting task.
func (p *prospect) course(key model.TaskKey) Course {
	if c, begun := p.begun[key]; begun {
		return c
	}
	c := p.rest[key]
	if task, _ := p.State.Tasks.Get(key); task.State.Terminal() {
		job, _ := p.State.Jobs.Get(key.Job)
		if c.GPUs = job.Spec.GPUs; task.Reason == model.ReasonDeadline {
			c.Late, c.Start.Latest = true, job.Spec.Deadline
		}
	}
	return c
}

// unless returns when a task starts at another pace, or its deadline if the task is late at that pace.
func (c *Course) unless(other Course) model.Time {
	if other.Late {
		return other.Start.Latest
	}
	return other.Start.Expected
}

// end returns when a task is expected to end; 0: unknown.
func (p *prospect) end(key model.TaskKey) model.Time {
	task, _ := p.State.Tasks.Get(key)
	a, found := p.State.Attempts.Get(task.Newest())
	switch at, ended := p.ended[key]; {
	case found && a.Live():
		return p.endOf(&task, &a)
	case ended && task.State != model.TaskQueued:
		return at
	}
	if c := p.course(key); c.Late {
		return c.Start.Latest
	}
	return p.rest[key].End.Expected
}

// pausesOf returns when a task is expected to be suspended.
func (p *prospect) pausesOf(key model.TaskKey) []Pause {
	return p.pauses.of(key, p.rest[key].Start.Expected)
}

// standStill sets what is expected of a waiting task while the scheduler starts nothing.
func (c *Course) standStill(set *model.Settings) {
	c.Start, c.End, c.Nodes = Range{}, Range{}, nil
	switch {
	case c.Why != "":
	case !set.Running:
		c.Why = blocker.CodeStopped
	default:
		c.Why = blocker.CodeStandstill
	}
	if c.Bar = blocker.CodeStopped; set.Running {
		c.Bar = blocker.CodeStandstill
	}
}

func rangeOf(least, like, most model.Time) Range {
	if min(least, like, most) == 0 || max(least, like, most) >= place.Never {
		return Range{}
	}
	return Range{true, min(least, like), like, max(like, most)}
}

// far is the factor by which an expectation without history is assumed to be wrong in either direction.
const far = 4

// usual expects a run to be as long as the median of like runs. Estimates are corrected by how wrong users'
// estimates have been.
func usual(s *state.State) reserve.Pace {
	return func(spec *model.Spec, executed time.Duration) time.Duration {
		if v, known := state.Told(s, spec, executed); known {
			return within(spec, executed, v.Usual)
		}
		return reserve.Likely(s)(spec, executed)
	}
}

// quick expects a run to be as short as the shortest quarter of like runs.
func quick(s *state.State) reserve.Pace {
	return func(spec *model.Spec, executed time.Duration) time.Duration {
		if v, known := state.Told(s, spec, executed); known {
			return within(spec, executed, min(v.Least, v.Usual/2))
		}
		like := s.Expect(spec, executed)
		past := s.Past(spec)
		if v, known := state.Quantile(&past, 25); known && spec.Estimate == 0 && v > executed {
			return min(v-executed, like)
		}
		return like / far
	}
}

// slow expects a run to be as long as nine in ten like runs, or as its time limit allows. If neither is known,
// slow expects 1.5 times the user's estimate, since most estimates are too long already.
func slow(s *state.State) reserve.Pace {
	return func(spec *model.Spec, executed time.Duration) time.Duration {
		if v, known := state.Told(s, spec, executed); known {
			return within(spec, executed, max(v.Most, v.Usual*3/2))
		}
		like := s.Expect(spec, executed)
		past := s.Past(spec)
		v, known := state.Quantile(&past, 90)
		switch {
		case spec.TimeLimit > 0:
			return max(spec.TimeLimit-executed, like)
		case spec.Estimate > 0:
			return like * 3 / 2
		case known:
			return max(v-executed, like)
		}
		return like * far
	}
}

// within returns the given time, or the time until the time limit if that is shorter.
func within(spec *model.Spec, executed, left time.Duration) time.Duration {
	if spec.TimeLimit > 0 {
		left = min(left, max(spec.TimeLimit-executed, 0))
	}
	return left
}
