package sched

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Forecast is what is expected of the time to come if nothing else is submitted. It
// is a guess: it rests on how long jobs are thought to run. The scheduler is played on
// into that time, with all that it does: it suspends, keeps GPUs, begins the next period of
// a quota. On large clusters, and beyond some hundred passes, tasks are taken to get GPUs in
// the order that there is then, as soon as these are expected to be free for as long as they
// need them; the scheduler may do better.
type Forecast struct {
	At      model.Time
	Running []Course // by task
	Waiting []Course // in order
	Beyond  int      // tasks that wait behind these, of which nothing was foreseen
	Starts  bool     // the scheduler starts jobs; false: nobody knows when what waits will start
}

// Course is what is expected of one task, or of a service that waits.
type Course struct {
	Task     model.TaskKey
	Service  model.AllocationID // empty: it is a task
	Position int                // of who waits, as of [Position]; 0: it runs, or stands aside
	GPUs     uint32
	Nodes    []model.NodeID
	Start    Range // of who waits; Known is false while Why keeps it from starting at any time
	End      Range // a service's is not known
	Why      Code  // what else than GPUs has to come about first; empty: nothing
}

// Range is when something is expected. If the runs that it waits for take as little
// as a quarter of their like do it is Soonest, if as much as nine in ten, Latest.
type Range struct {
	Known                     bool
	Soonest, Expected, Latest model.Time
}

// maxForeseen bounds the waiting tasks of a forecast, and foreseeWork how many of them
// times GPUs in use are looked at, which keeps it to a fraction of a second.
const (
	maxForeseen = 256
	foreseeWork = 1 << 19
)

// Foresee makes a forecast for s at the time now.
func Foresee(s *state.State, now model.Time) Forecast { return foresee(s, now, futureWork) }

// foresee makes one that plays the scheduler on for so much work at each pace.
func foresee(s *state.State, now model.Time, work int) Forecast {
	now = max(now, s.Settings().Clock)
	set := s.Settings()
	f := Forecast{At: now, Starts: set.Running && !set.Standstill}
	atOnce := newPass(s, now)
	line := f.line(atOnce)
	atOnce.claimed()
	atOnce.fill()
	least, like, most := newProspect(atOnce, quick(s), line, work), newProspect(atOnce, usual(s), line, work), newProspect(atOnce, slow(s), line, work)
	for key := range s.LiveTasks.All() {
		task, _ := s.Tasks.Get(key)
		a, _ := s.Attempts.Get(task.Newest())
		c := Course{Task: key, GPUs: a.GPUs, End: rangeOf(least.end(key), like.end(key), most.end(key))}
		for _, r := range s.RanksOf(a.Key) {
			c.Nodes = append(c.Nodes, r.Node)
		}
		f.Running = append(f.Running, c)
	}
	for _, v := range line {
		c, x, y := like.course(v.task), least.course(v.task), most.course(v.task)
		c.Task, c.Service, c.Position = v.task, ticketOf(s, v.task).service, v.position
		c.Start = rangeOf(x.Start.Expected, c.Start.Expected, y.Start.Expected)
		if c.End = (Range{}); c.Service == "" {
			c.End = rangeOf(least.end(v.task), like.end(v.task), most.end(v.task))
		}
		if c.Why == "" && (c.Start.Expected > now || !c.Start.Known) {
			c.Why = hindrance(atOnce, v.task)
		}
		if !f.Starts {
			c.standStill(&set)
		}
		f.Waiting = append(f.Waiting, c)
	}
	return f
}

// hindrance is what else than GPUs one that waits needs first; empty: nothing.
func hindrance(p *pass, key model.TaskKey) Code {
	for b := range p.admit(ticketOf(p.state, key)) {
		return b.Code
	}
	return ""
}

// waiter is one that waits, and its place in the order; 0: it stands aside.
type waiter struct {
	task     model.TaskKey
	position int
}

// line lists those who wait of whom something is foreseen, in order.
func (f *Forecast) line(p *pass) (line []waiter) {
	position, most := 1, min(maxForeseen, foreseeWork/(len(p.times.expected())+1)+1)
	for key, held := range merged(p.order) {
		if len(line) == most {
			f.Beyond++
			continue
		}
		v := waiter{key.Task, position}
		if held {
			v.position = 0
		} else {
			position++
		}
		line = append(line, v)
	}
	return line
}

// prospect is the time to come at one pace: as far as the scheduler is played on, and then in order.
type prospect struct {
	*future

	rest map[model.TaskKey]Course // of those who wait then
}

// newProspect plays the time to come of those in line, at one pace.
func newProspect(atOnce *pass, left pace, line []waiter, work int) *prospect {
	starts := 0
	for _, v := range line {
		if task, _ := atOnce.state.Tasks.Get(v.task); !task.Held {
			starts++
		}
	}
	p := &prospect{future: playOn(atOnce, left, starts, work)}
	if p.State.Queue.Len() > 0 || len(p.begun) < len(line) {
		p.rest = restOf(p.future, atOnce, line)
	}
	return p
}

// course is what is expected of one that waits.
func (p *prospect) course(key model.TaskKey) Course {
	if c, begun := p.begun[key]; begun {
		return c
	}
	return p.rest[key]
}

// end is when a task is expected to end; 0: nobody knows.
func (p *prospect) end(key model.TaskKey) model.Time {
	task, _ := p.State.Tasks.Get(key)
	a, found := p.State.Attempts.Get(task.Newest())
	switch at, ended := p.ended[key]; {
	case found && a.Live():
		return p.endOf(&task, &a)
	case ended && task.State != model.TaskQueued:
		return at
	}
	return p.rest[key].End.Expected
}

// standStill is what is expected of who waits while nothing is started.
func (c *Course) standStill(set *model.Settings) {
	c.Start, c.End, c.Nodes = Range{}, Range{}, nil
	switch {
	case c.Why != "":
	case !set.Running:
		c.Why = CodeStopped
	default:
		c.Why = CodeStandstill
	}
}

func rangeOf(least, like, most model.Time) Range {
	if min(least, like, most) == 0 || max(least, like, most) >= never {
		return Range{}
	}
	return Range{true, min(least, like), like, max(like, most)}
}

// far is how far off what is expected without history is taken to be: by a factor
// of so much either way.
const far = 4

// usual takes runs to be as long as half of their like are: of estimates it takes off what
// users have been wrong by.
func usual(s *state.State) pace {
	return func(spec *model.Spec, executed time.Duration) time.Duration {
		if v, known := state.Told(s, spec, executed); known {
			return within(spec, executed, v.Usual)
		}
		return likely(s)(spec, executed)
	}
}

// quick takes runs to be as short as a quarter of their like is.
func quick(s *state.State) pace {
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

// slow takes them to be as long as nine of ten are, or as their time limits allow; where
// neither is known to be a half longer than it was told, since estimates are mostly too long already.
func slow(s *state.State) pace {
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

// within is so long, or until the time limit.
func within(spec *model.Spec, executed, left time.Duration) time.Duration {
	if spec.TimeLimit > 0 {
		left = min(left, max(spec.TimeLimit-executed, 0))
	}
	return left
}

// course foresees in order when those who wait find GPUs, as things stand.
type course struct {
	*pass

	atOnce *pass // what the scheduler does now
}

// restOf foresees the starts of those in line that have not begun, and of who has been suspended.
func restOf(f *future, atOnce *pass, line []waiter) map[model.TaskKey]Course {
	if f.played() {
		atOnce = newPass(&f.State, f.Now)
		atOnce.claimed()
		atOnce.fill()
	}
	c := &course{pass: newPass(atOnce.state, atOnce.now), atOnce: atOnce}
	c.times.left = f.left
	c.times.releases = c.times.expected()
	c.begin()
	c.book()
	left := map[model.TaskKey]bool{}
	for key := range f.runs { // order-free: a set
		if task, _ := f.State.Tasks.Get(key); task.State == model.TaskQueued {
			left[key] = true
		}
	}
	for _, v := range line {
		if _, begun := f.begun[v.task]; !begun {
			left[v.task] = true
		}
	}
	out := map[model.TaskKey]Course{}
	for key := range merged(c.order) {
		if len(left) == 0 {
			break
		}
		if left[key.Task] {
			out[key.Task] = c.wait(key)
			delete(left, key.Task)
		}
	}
	return out
}

// begin keeps what the scheduler gives away at once.
func (c *course) begin() {
	for _, b := range c.atOnce.commands {
		switch b := b.(type) {
		case *command.Place:
			w := c.wantFor(ticketOf(c.state, b.Attempt.TaskKey()))
			parts := make([]lane, len(b.Ranks))
			for i := range b.Ranks {
				parts[i] = lane{b.Ranks[i].Node, uint32(len(b.Ranks[i].Slots))} //nolint:gosec // GPUs of a node
			}
			c.times.keep(Reservation{Task: w.who, At: c.now, Until: w.until}, &w, parts)
		case *command.Grant:
			at := b.Placement
			c.times.keep(Reservation{At: c.now, Until: never}, nil, []lane{{at.Node, uint32(len(at.Slots))}}) //nolint:gosec // GPUs of a node
		}
	}
}

// wantFor is what a task asks for, and for how long from now on.
func (c *course) wantFor(t *ticket) want {
	w := freshWant(c.pass, t)
	spec := &t.job.Spec
	if w.until = c.now.Add(t.holds()); t.service == "" {
		w.until = c.now.Add(max(c.times.left(spec, t.task.Executed), leastRun))
	}
	w.asks = &asker{spec.User, spec.Project, spec.Certain()}
	return w
}

// wait says when a waiting task is expected to start, and has it keep its GPUs.
func (c *course) wait(key state.QueueKey) Course {
	t := ticketOf(c.state, key.Task)
	w := c.wantFor(t)
	out := Course{GPUs: t.job.Spec.GPUs}
	begin := func(at model.Time) {
		out.Start.Expected, out.End.Expected = at, at.Add(w.until.Sub(c.now))
	}
	switch ranks := c.atOnce.placeOf(t); {
	case ranks != nil:
		out.GPUs = gpusOf(ranks)
		for i := range ranks {
			out.Nodes = append(out.Nodes, ranks[i].Node)
		}
		begin(c.now)
	case c.atOnce.found.planned[key.Task] || len(c.pool.kept[key.Task]) > 0:
		begin(c.now.Add(soon))
	default:
		at, why := c.earliest(t, &w, &out)
		if out.Why = why; at > 0 && at < never {
			begin(at)
		}
	}
	return out
}

// earliest finds GPUs for a task that does not start at once; 0: something else has to
// come about first.
func (c *course) earliest(t *ticket, w *want, out *Course) (model.Time, Code) {
	var why Code
	from := c.now
	for b := range c.admit(t) {
		switch why = b.Code; why { //nolint:exhaustive // all others come about by no time
		case CodeBegin, CodeBackoff, CodeGPUHours:
			from = max(from, b.Until)
		default:
			return 0, why
		}
	}
	*w = c.budget.within(*w, &t.job.Spec)
	parts, at := c.places(w, from)
	if parts == nil {
		return never, why
	}
	c.times.keep(Reservation{Task: w.who, At: at, Until: at.Add(w.until.Sub(c.now))}, w, parts)
	out.GPUs = 0
	for _, v := range parts {
		out.Nodes, out.GPUs = append(out.Nodes, v.node), out.GPUs+v.n
	}
	return at, why
}

// places is where and when a task finds GPUs from an instant on: as soon as it finds the
// least that it takes, and then as many as it can have.
func (c *course) places(w *want, from model.Time) (parts []lane, at model.Time) {
	if now, fits := c.pool.find(w); fits && from <= c.now {
		for _, v := range now {
			parts = append(parts, lane{v.host.id, v.n})
		}
		return parts, c.now
	}
	few := w.few()
	l := newLanes(&c.times, &few)
	if parts, at = l.earliest(from); parts != nil && w.least > 0 {
		parts = l.most(w, at)
	}
	return parts, at
}

// placeOf is where the plan places a task or a service; nil: it does not.
func (p *pass) placeOf(t *ticket) []command.Placement {
	for _, b := range p.commands {
		switch b := b.(type) {
		case *command.Place:
			if b.Attempt.TaskKey() == t.task.Key {
				return b.Ranks
			}
		case *command.Grant:
			if b.ID == t.service {
				return []command.Placement{b.Placement}
			}
		}
	}
	return nil
}
