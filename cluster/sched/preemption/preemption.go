package preemption

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of the preemption in one pass. One task gets its GPUs. So few preemptors that differ are tried, and so
// few tasks of each run looked at, that a long queue of them costs little.
const (
	maxPreemptors = 16
	maxLooked     = 256 // tasks of a run
	maxVictims    = 1024
	claimSlack    = 2 * time.Minute // for GPUs to be shown clean, beyond the victims' graces
)

// Run lets the first waiting task of a higher class that was not placed take GPUs of lower classes: they are
// kept for the task, which starts once they are clean. Other GPUs that the task needs besides them are kept as
// well, so that it surely starts.
func (m *Step) Run() {
	p := m.pass
	t := &p.Order.Tuning
	if t.NoPreemption || t.Preempt == model.PreemptsNobody || len(p.Commands) >= pass.MaxPlan {
		return
	}
	m.count()
	for _, q := range m.preemptors() {
		for ; q.Len() > 0 && len(m.failed) < maxPreemptors; q.Reorder() {
			switch r := q.Head(); m.claimForHead(r) {
			case pass.Placed:
				return
			case pass.Skipped:
				q.Advance()
			case pass.JobFull:
				q.SkipJob()
			case pass.RunOver, pass.AllOver:
				r.Done = true
			}
		}
	}
}

// claimForHead claims GPUs for the head of a run, and returns the outcome. A failure of a task that keeps off some GPUs
// does not count for others of its run.
func (m *Step) claimForHead(r *queue.Run) pass.Outcome {
	if m.served(r.Key.Task) {
		return pass.Skipped
	}
	if r.Examined++; r.Examined > maxLooked {
		return pass.RunOver
	}
	t := admission.TicketOf(m.pass.State, r.Key.Task)
	why, kept := keptBack(m.pass, t)
	switch picky := t.Task.Avoid > 0; {
	case kept:
		return why
	case picky && m.selective == maxPreemptors:
		return pass.Skipped
	case m.claimFor(r.Key, t):
		return pass.Placed
	case picky:
		return pass.Skipped
	}
	return pass.RunOver
}

// keptBack reports whether a task may not start no matter what is free, and returns what that keeps back: the
// task, its job or its run.
func keptBack(p *pass.Pass, t *admission.Ticket) (what pass.Outcome, kept bool) {
	for b := range p.Blockers(t) {
		return pass.OutcomeOf(b.Code), true
	}
	return pass.Placed, false
}

// Step is what preemptors may take during one pass, including GPUs for which no other task has to stop.
type Step struct {
	pass    *pass.Pass
	seen    bool // all running tasks were added
	known   bool
	victims []*victim // cheapest first
	// of each class, when the first attempt that may not be stopped yet may be; 0: there is none
	stoppableAt [model.ClassCritical + 1]model.Time
	RetryAt     model.Time                       // when a task that needs GPUs of others may find more of these; 0: never
	leaving     map[model.AttemptKey]uint32      // attempts that are being stopped, with their GPUs
	freeSoon    map[model.NodeID][]model.SlotKey // free soon, and kept for no task
	leavingOf   map[model.ScopeKey]int64         // GPUs of each owner that are leaving
	kept        []pass.KeptGPUs                  // what is kept for waiting tasks
	failed      map[preemptorKey]model.Time      // preemptors that have found too little, with when they would be gone
	selective   int                              // how many of these keep off some GPUs
}

// New returns the preemption of a pass.
func New(p *pass.Pass) *Step {
	return &Step{
		pass: p, leaving: map[model.AttemptKey]uint32{}, freeSoon: map[model.NodeID][]model.SlotKey{}, leavingOf: map[model.ScopeKey]int64{},
		failed: map[preemptorKey]model.Time{},
	}
}

// count counts the tasks that will start once others are stopped against the limits, as if they had started.
func (m *Step) count() {
	p := m.pass
	will := func(key model.TaskKey, run *state.Run) {
		switch {
		case p.Done[key]:
		case run.Service:
			p.Budget.Use(run.Project, run.User, run.Shape.GPUs, 0)
		default:
			p.Budget.Use(run.Project, run.User, run.Shape.GPUs, 1)
			p.Budget.Jobs[key.Job]++
		}
	}
	for key, of := range p.Found.ToRun { // order-free: sums
		run := of.Value()
		will(key, &run)
	}
	for key := range p.Free.Claimed { // order-free: sums
		if !p.Found.Plans(key) && !p.Budget.Held[key] {
			t := admission.TicketOf(p.State, key)
			run := t.QueueKey(p.State).Run.Value()
			will(key, &run)
		}
	}
}

// preemptors returns the runs that have a right to GPUs of others: runs of higher classes and of owners. There is one
// queue for each class, in order, the highest class first.
func (m *Step) preemptors() (classes []*queue.Queue) {
	p := m.pass
	for head := range queue.Heads(p.State) {
		if head.Class < model.ClassHigh && !p.Budget.HasPools {
			break // no later run has a right either
		}
		if head.Class < model.ClassHigh && !m.owns(head) {
			continue
		}
		at := p.Order.SortKey(head)
		if at.Late {
			continue // a task over a quota takes GPUs of no other
		}
		n := len(classes)
		if n == 0 || classes[n-1].Head().Key.Class != head.Class {
			classes, n = append(classes, queue.NewEmptyQueue(p.Order)), n+1
		}
		heap.Push(classes[n-1], &queue.Run{Key: head, At: at})
	}
	return classes
}

// owns reports whether a task, with the fewest GPUs that it takes, would stay within its owner's guarantee. Such a
// task may take back what others borrow of the guarantee.
func (m *Step) owns(k state.QueueKey) bool {
	run := k.Run.Value()
	own := m.pass.Budget.Pool(run.Project, run.User)
	return own.Reserved > 0 && own.Beyond(int64(leastOf(&run.Shape))) == 0
}

// leastOf returns the fewest GPUs that a shape takes.
func leastOf(s *model.Shape) uint32 {
	if s.MinGPUs > 0 {
		return s.MinGPUs
	}
	return s.GPUs
}

// served reports whether a task needs no GPUs of others: this plan places it, or others are being stopped for it
// already.
func (m *Step) served(key model.TaskKey) bool {
	p := m.pass
	return p.Found.Plans(key) || len(p.Free.Claimed[key]) > 0 || p.Done[key]
}

// victim is an attempt that a preemptor may stop.
type victim struct {
	key    model.AttemptKey
	class  model.Class
	yields bool    // its job allows it
	lender *lender // its owner, from which others may take GPUs back; nil: it holds no more than its guarantee
	loss   int64   // GPU-milliseconds since its last checkpoint
	gpus   uint32
	grace  time.Duration // from the first signal to the kill
	has    []slotOn      // once looked up
}

// holds returns what stopping a victim would free.
func (v *victim) holds(s *state.State) []slotOn {
	if v.has == nil {
		v.has = holds(s, v.key)
	}
	return v.has
}

// lender is an owner that holds more than its guarantee.
type lender struct {
	more  int64 // by so many GPUs
	taken int64 // GPUs of its victims that are being looked at
}

type slotOn struct {
	node model.NodeID
	slot model.SlotKey
}

// compare returns a negative number if v is the cheaper victim.
func (v *victim) compare(b *victim) int {
	return cmp.Or(cmp.Compare(v.class, b.class), model.CompareBools(b.yields, v.yields),
		cmp.Compare(v.loss, b.loss), cmp.Compare(v.gpus, b.gpus), b.key.Compare(v.key))
}

// AddVictim adds a running task: to the victims, or to those that will free their GPUs because they are being stopped.
// A search looks at all running tasks, and adds them on the way. The argument saved is how long after the
// attempt's start its first rank saved a checkpoint.
func (m *Step) AddVictim(task *model.Task, a *model.Attempt, job *model.Job, saved time.Duration) {
	switch {
	case a.Stop != model.ReasonNone || m.pass.Bookings.Suspended[a.Key]:
		m.leaving[a.Key] = a.GPUs
	case a.Started == 0 || !job.Spec.Preemptible && m.pass.Order.Tuning.Preempt != model.PreemptsLower:
	case m.firm(task, a) > 0:
		ripe := &m.stoppableAt[min(task.Class, model.ClassCritical)]
		*ripe = pass.Sooner(*ripe, m.pass.Now.Add(m.firm(task, a)))
	default:
		m.victims = append(m.victims, &victim{
			key: a.Key, class: task.Class, yields: job.Spec.Preemptible, gpus: a.GPUs, grace: a.Frozen.FenceLead(),
			loss: lossOf(a, saved, m.pass.Now),
		})
	}
}

// AllAdded notes that all running tasks were added, so that they are not looked at again.
func (m *Step) AllAdded() { m.seen = true }

// lossOf returns what a running attempt has done since a checkpoint, in GPU-milliseconds: thousands of GPUs for
// weeks are more nanoseconds than an int64 holds.
func lossOf(a *model.Attempt, saved time.Duration, now model.Time) int64 {
	return max(now.Sub(a.Started)-saved, 0).Milliseconds() * int64(a.GPUs)
}

// collectVictims finds, once, the running tasks, and the GPUs that will be free because their tasks are being stopped or
// cleaned up after.
func (m *Step) collectVictims() {
	if m.known {
		return
	}
	m.known = true
	s := m.pass.State
	if !m.seen {
		for key := range s.LiveTasks.All() {
			task, _ := s.Tasks.Get(key)
			a, _ := s.Attempts.Get(task.Newest())
			job, _ := s.Jobs.Get(key.Job)
			first, _ := s.Ranks.Get(a.Key.Rank(0))
			m.AddVictim(&task, &a, &job, first.Saved)
		}
	}
	stops := map[model.AttemptKey]bool{}
	for _, c := range m.pass.Commands {
		if suspend, is := c.(*command.Suspend); is {
			for _, a := range suspend.Attempts {
				stops[a] = true
			}
		}
	}
	m.victims = slices.DeleteFunc(m.victims, func(v *victim) bool {
		if stops[v.key] {
			m.leaving[v.key] = v.gpus
		}
		return stops[v.key]
	})
	slices.SortFunc(m.victims, (*victim).compare)
	m.collectFreeSoon()
	m.lenders()
	m.kept = m.keptForOthers()
}

// collectFreeSoon finds the GPUs that will be free and are kept for no task: those of attempts that are being stopped, and
// those that are being cleaned.
func (m *Step) collectFreeSoon() {
	s := m.pass.State
	for key, slot := range s.Slots.All() {
		goes := slot.Owner == model.OwnerCleaning
		if slot.Owner == model.OwnerAttempt {
			_, goes = m.leaving[slot.Rank.Attempt()]
		}
		if goes && !s.Claims.Has(key) {
			m.freeSoon[slot.Node] = append(m.freeSoon[slot.Node], key)
		}
	}
	if !m.pass.Budget.HasPools {
		return
	}
	for key, gpus := range m.leaving { // order-free: sums
		job, _ := s.Jobs.Get(key.Job)
		p := s.PoolOf(job.Spec.Project, job.Spec.User)
		m.leavingOf[p.Owner] += int64(gpus)
	}
}

// lenders finds the owners that borrow GPUs, and how many each holds beyond its guarantee once the attempts that
// are being stopped are gone.
func (m *Step) lenders() {
	if !m.pass.Budget.HasPools {
		return
	}
	all := map[model.ScopeKey]*lender{}
	for _, v := range m.victims {
		job, _ := m.pass.State.Jobs.Get(v.key.Job)
		p := m.pass.State.PoolOf(job.Spec.Project, job.Spec.User)
		more := p.Own - p.Reserved - m.leavingOf[p.Owner]
		if all[p.Owner] == nil && more > 0 {
			all[p.Owner] = &lender{more: more}
		}
		v.lender = all[p.Owner]
	}
}

// holds lists the GPUs of an attempt that are kept for no task. The GPUs of ranks that have ended are being
// cleaned, and no longer belong to the attempt.
func holds(s *state.State, a model.AttemptKey) (out []slotOn) {
	for _, r := range s.RanksOf(a) {
		for _, key := range s.SlotsOf(r.Key) {
			if slot, _ := s.Slots.Get(key); slot.Owner == model.OwnerAttempt && !s.Claims.Has(key) {
				out = append(out, slotOn{r.Node, key})
			}
		}
	}
	return out
}

// firm returns for how much longer an attempt may not be stopped for a higher class: it has not run for long
// enough, or its task was stopped for others too often.
func (m *Step) firm(task *model.Task, a *model.Attempt) time.Duration {
	t, now := &m.pass.Order.Tuning, m.pass.Now
	least := t.PreemptMinRun
	if task.Preempted > 0 {
		least = max(least, t.PreemptCooldown)
	}
	return max(least-now.Sub(a.Started), queue.EarningTime(task, admission.Executed(task, a, now), t))
}

// retryWith notes when a preemptor that found too little to take may find more.
func (m *Step) retryWith(h *preemptor) {
	for class, at := range m.stoppableAt {
		if c := model.Class(class); c < h.class || c == h.class && h.owns {
			m.RetryAt = pass.Sooner(m.RetryAt, at)
		}
	}
}
