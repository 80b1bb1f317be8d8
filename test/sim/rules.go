package sim

import (
	"maps"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/test/sim/condition"
)

// deadlineSlack is how much longer than until its deadline a job may run once all is healed: its nodes have to come back and its graces to
// pass.
const deadlineSlack = time.Minute

// rules compares what the cluster does with the users' requirements on where and when their jobs run, as the users remember them: neither
// the state's rows nor the scheduler's code decide what is right. Its lock is taken last.
type rules struct {
	w *World

	mu       sync.Mutex
	wishes   map[string]*command.Submit // by the job's name; they do not change
	booked   map[string]*model.Booking  // by its note; likewise
	freed    map[model.JobID]bool       // its wait for its begin was ended
	soundAt  time.Time                  // when everything was healed; zero: not yet
	overdues map[string]bool            // jobs beyond their deadline that were reported
	stays    map[model.AttemptKey]stay  // of the live attempts
	asked    map[string]int             // how many placements each rule concerned, by the name of its breach
}

func newRules(w *World) *rules {
	return &rules{
		w: w, wishes: map[string]*command.Submit{}, booked: map[string]*model.Booking{}, freed: map[model.JobID]bool{},
		overdues: map[string]bool{}, asked: map[string]int{}, stays: map[model.AttemptKey]stay{},
	}
}

// wish stores a user's requirements on a job, and returns those that the cluster gets.
func (r *rules) wish(c *command.Submit) *command.Submit {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wishes[c.Spec.Name] = c
	told := *c
	switch r.w.Twists.Unsaid {
	case BreachThrottle:
		told.Throttle = 0
	case BreachBegin:
		told.Spec.Begin = 0
	case BreachDependency:
		told.After = nil
	case BreachDeadline:
		told.Spec.Deadline = 0
	case BreachWhere:
		told.Spec.Constraint, told.Spec.Exclude = "", ""
	case BreachLead:
		told.Spec.Lead = false
	case BreachGPUs:
		told.Spec.MinGPUs = min(max(told.Spec.GPUs, 1)-1, 1)
	}
	return &told
}

// book stores a booking, and returns the one that the cluster gets.
func (r *rules) book(b *model.Booking) *model.Booking {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.booked[b.Note] = b
	told := *b
	switch {
	case r.w.Twists.Unsaid == BreachBooked && b.Kind == model.BookGPUs:
		told.Owner.Name = "everybody"
	case r.w.Twists.Unsaid == BreachMaintenance && b.Kind == model.BookMaintenance:
		told.Nodes = "n2"
	}
	return &told
}

// healed notes that nothing is broken from now on.
func (r *rules) healed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.soundAt = time.Now()
}

// said returns how many placements each rule concerned.
func (r *rules) said() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.asked)
}

// carriedOut takes note of a command that changes what jobs wait for.
func (r *rules) carriedOut(b command.Body) {
	if c, is := b.(*command.Release); is {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.freed[c.Job] = true
	}
}

// started checks where a process has started.
func (r *rules) started(h *host, p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.wishes[p.does.Job]
	if c == nil {
		return
	}
	if s := &c.Spec; s.Constraint != "" && s.Constraint != "zone="+h.id.zone || s.Exclude != "" && s.Exclude == string(h.id.node) {
		r.w.trace.Break(BreachWhere, "%s of %q is on %s in zone %s", p.rank, s.Name, h.id.node, h.id.zone)
	}
}

// crowd is the jobs whose processes run user code at one moment.
type crowd map[model.JobID]*present

type present struct {
	name  string
	tasks map[uint32]bool
}

func (c crowd) add(p *process) {
	if c[p.rank.Job] == nil {
		c[p.rank.Job] = &present{p.does.Job, map[uint32]bool{}}
	}
	c[p.rank.Job].tasks[p.rank.Task] = true
}

// look checks what runs at the same time.
func (r *rules) look(all crowd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, there := range all {
		c := r.wishes[there.name]
		if c == nil {
			continue
		}
		if n := len(there.tasks); c.Throttle > 0 && n > int(c.Throttle) {
			r.w.trace.Break(BreachThrottle, "%d tasks of job %s run, of which %d may", n, id, c.Throttle)
		}
		for _, a := range c.After {
			if on := all[a.Job]; on != nil && !a.Any && a.Kind != dependency.AfterBegin && a.Kind != dependency.AfterCorr {
				r.w.trace.Break(BreachDependency, "job %s runs at the same time as job %s, for whose end it waits", id, a.Job)
			}
		}
		r.inTime(c)
	}
}

// inTime checks that a job that runs is not long beyond its deadline, once nothing is broken any more. The lock is held.
func (r *rules) inTime(c *command.Submit) {
	end := c.Spec.Deadline
	if end == 0 || r.soundAt.IsZero() || r.overdues[c.Spec.Name] {
		return
	}
	if now := time.Now().Add(-deadlineSlack); now.After(r.soundAt) && now.After(end.Time()) {
		r.overdues[c.Spec.Name] = true
		r.w.trace.Break(BreachDeadline, "%q still runs, %s after its deadline", c.Spec.Name, time.Since(end.Time()))
	}
}

// placed checks an attempt that has been placed between two states.
func (r *rules) placed(before, after *state.State, a *model.Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	job, _ := after.Jobs.Get(a.Key.Job)
	c := r.wishes[job.Spec.Name]
	if c == nil {
		return
	}
	if c.Spec.Begin > a.Placed && !r.freed[job.ID] {
		r.w.trace.Break(BreachBegin, "%s is placed at %s, to begin at %s", a.Key, a.Placed.Time(), c.Spec.Begin.Time())
	}
	r.awaited(after, a, c)
	r.given(after, a, c)
	r.count(c, a)
	p := placement{before: before, after: after, attempt: a, wish: c}
	for id, row := range after.Bookings.All() {
		if b := r.booked[row.Note]; b != nil && before.Bookings.Has(id) {
			r.beside(&p, b)
		}
	}
}

// led checks, at the end of a lead rank, that the other ranks are stopped, and that a good end is that of the job. The time limit stops
// each rank on its own node, so that a rank that has ended by the limit needs no stop of the others.
func (r *rules) led(s *state.State, lead *model.Rank) {
	r.mu.Lock()
	defer r.mu.Unlock()
	job, _ := s.Jobs.Get(lead.Key.Job)
	a, _ := s.Attempts.Get(lead.Key.Attempt())
	c := r.wishes[job.Spec.Name]
	if c == nil || !c.Spec.Lead || lead.Key.Rank > 0 {
		return
	}
	if lead.Exit.Delivered == model.ReasonTimeLimit {
		return
	}
	if good := lead.Exit == (model.Exit{Ran: lead.Exit.Ran}); a.Live() && a.Stop == model.ReasonNone ||
		good && a.End == model.ReasonExit && a.State != model.TaskCompleted {
		r.w.trace.Break(BreachLead, "%s has ended with %+v, the attempt is %s by %q and ends by %q", lead.Key, lead.Exit, a.State, a.Stop, a.End)
	}
}

// count counts the rules that concern a placement. The lock is held.
func (r *rules) count(c *command.Submit, a *model.Attempt) {
	for breach, is := range map[string]bool{
		BreachThrottle: c.Throttle > 0, BreachBegin: c.Spec.Begin > 0, BreachDependency: len(c.After) > 0, BreachDeadline: c.Spec.Deadline > 0,
		BreachWhere: c.Spec.Constraint != "" || c.Spec.Exclude != "", BreachGPUs: a.GPUs < c.Spec.GPUs, BreachLead: c.Spec.Lead,
	} {
		if is {
			r.asked[breach]++
		}
	}
}

// awaited checks that what a job waits for has happened. The lock is held.
func (r *rules) awaited(s *state.State, a *model.Attempt, c *command.Submit) {
	alternatives, wrongs := 0, []string{}
	for _, on := range c.After {
		wrong := condition.Unmet(s, on, a.Key.Task, c.Tasks > 1)
		if on.Any {
			alternatives++
		}
		switch {
		case wrong == "":
		case on.Any:
			wrongs = append(wrongs, wrong)
		default:
			r.w.trace.Break(BreachDependency, "%s is placed %s of job %s, %s", a.Key, on.Kind, on.Job, wrong)
		}
	}
	if alternatives > 0 && len(wrongs) == alternatives {
		r.w.trace.Break(BreachDependency, "%s is placed after one of %v, of which none holds: %q", a.Key, c.After, wrongs)
	}
}

// given checks how many GPUs an attempt has. The lock is held.
func (r *rules) given(s *state.State, a *model.Attempt, c *command.Submit) {
	all, least := uint32(0), c.Spec.GPUs
	if c.Spec.MinGPUs > 0 {
		least = c.Spec.MinGPUs
	}
	ranks := s.RanksOf(a.Key)
	for _, rank := range ranks {
		n := uint32(len(s.SlotsOf(rank.Key)))
		if all += n; c.Spec.Nodes > 1 && n != c.Spec.GPUs/c.Spec.Nodes {
			r.w.trace.Break(BreachGPUs, "%s has %d GPUs, of %d on %d nodes", rank.Key, n, c.Spec.GPUs, c.Spec.Nodes)
		}
	}
	if all < least || all > c.Spec.GPUs {
		r.w.trace.Break(BreachGPUs, "%s has %d GPUs, of %d, %d at least", a.Key, all, c.Spec.GPUs, least)
	}
}
