package sched

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of one pass's preempting: one task gets its GPUs, and of those with the
// right to so few that differ are tried, and of each run so few looked at, that a long queue of them
// costs little.
const (
	maxHunters = 16
	maxLooked  = 256 // tasks of a run
	maxVictims = 1024
	claimSlack = 2 * time.Minute // for GPUs to be shown clean, beyond the victims' graces
)

// preempt has the first waiting task of a higher class that was not placed take
// GPUs of lower classes: they are kept for it, and it starts once they are clean.
// Other GPUs that it needs beside them are kept as well, so that it surely starts.
func (p *pass) preempt() {
	t := &p.order.Tuning
	if t.NoPreemption || t.Preempt == model.PreemptsNobody || len(p.commands) >= maxPlan {
		return
	}
	all := p.found.preyOf(p)
	all.count()
	for _, q := range all.hunters() {
		for ; q.Len() > 0 && len(all.vain) < maxHunters; q.Reorder() {
			switch r := q.Head(); all.hunt(r) {
			case placed:
				return
			case skipped:
				q.Advance()
			case jobFull:
				q.SkipJob()
			case runOver, allOver:
				r.Done = true
			}
		}
	}
}

// hunt has GPUs claimed for the head of a run, and says what came of it. One that keeps off some GPUs does
// not speak for others of its run.
func (y *prey) hunt(r *queue.Run) outcome {
	if y.served(r.Key.Task) {
		return skipped
	}
	if r.Examined++; r.Examined > maxLooked {
		return runOver
	}
	t := admission.TicketOf(y.pass.state, r.Key.Task)
	why, kept := keptBack(y.pass, t)
	switch picky := t.Task.Avoid > 0; {
	case kept:
		return why
	case picky && y.picky == maxHunters:
		return skipped
	case y.yield(r.Key, t):
		return placed
	case picky:
		return skipped
	}
	return runOver
}

// keptBack says what of a task's run is kept from starting whatever is free, if the task is.
func keptBack(p *pass, t *admission.Ticket) (what outcome, kept bool) {
	for b := range p.admit(t) {
		return outcomeOf(b.Code), true
	}
	return placed, false
}

// anyHunts says that somebody waits who may have a right to GPUs of others.
func anyHunts(p *pass) bool {
	if t := &p.order.Tuning; t.NoPreemption || t.Preempt == model.PreemptsNobody {
		return false
	}
	for head := range queue.Heads(p.state) {
		return p.budget.HasPools || head.Class >= model.ClassHigh
	}
	return false
}

// claimed places the tasks all of whose GPUs are kept for them and free, before all
// others.
func (p *pass) claimed() { startClaimants(p, true) }

// startClaimants places tasks for which GPUs are kept: on these alone, or, where some
// of them never come, on whatever others have left.
func startClaimants(p *pass, kept bool) {
	for task := range queue.Claimants(p.state) {
		if p.full() {
			return
		}
		if p.done[task] {
			continue
		}
		t := admission.TicketOf(p.state, task)
		w := p.wantOf(t)
		w.kept, w.until = kept, 0
		if !p.admits(t) {
			continue
		}
		if ranks, fits := p.pool.place(&w); fits {
			p.add(t, ranks)
		} else if !p.budget.Held[task] {
			p.budget.Hold(t) // no other job may use what its limits leave to it
		}
	}
}

// prey is what higher classes may take, or need not even take, during one pass.
type prey struct {
	pass    *pass
	seen    bool // all that runs was noted
	known   bool
	victims []*victim                           // cheapest first
	ripe    [model.ClassCritical + 1]model.Time // of each class, when the first that may not be stopped yet may be; 0: there is none
	wake    model.Time                          // when somebody who needs GPUs of others may find more of these; 0: never
	leaving map[model.AttemptKey]uint32         // attempts that are being stopped, with their GPUs
	coming  map[model.NodeID][]model.SlotKey    // free soon, and kept for nobody
	going   map[model.ScopeKey]int64            // GPUs of each owner among these
	owed    []owed                              // what is kept for those who wait
	vain    map[hunter]model.Time               // who has found too little, though it would be gone by then
	picky   int                                 // and how many who keep off some GPUs
}

// preyOf is the pass's prey.
func (f *found) preyOf(p *pass) *prey {
	if f.prey == nil {
		f.prey = &prey{
			pass: p, leaving: map[model.AttemptKey]uint32{}, coming: map[model.NodeID][]model.SlotKey{}, going: map[model.ScopeKey]int64{},
			vain: map[hunter]model.Time{},
		}
	}
	return f.prey
}

// count has the tasks that will start once others are stopped count against the
// limits as if they had started.
func (y *prey) count() {
	p := y.pass
	will := func(key model.TaskKey, run *state.Run) {
		switch {
		case p.done[key]:
		case run.Service:
			p.budget.Use(run.Project, run.User, run.Shape.GPUs, 0)
		default:
			p.budget.Use(run.Project, run.User, run.Shape.GPUs, 1)
			p.budget.Jobs[key.Job]++
		}
	}
	for key, of := range p.found.planned { // order-free: sums
		run := of.Value()
		will(key, &run)
	}
	for key := range p.pool.kept { // order-free: sums
		if !p.found.plans(key) && !p.budget.Held[key] {
			t := admission.TicketOf(p.state, key)
			run := t.QueueKey(p.state).Run.Value()
			will(key, &run)
		}
	}
}

// hunters are the runs that have a right to GPUs of others, those of higher classes and of owners: of
// each class those who may take them in order, the highest first.
func (y *prey) hunters() (classes []*queue.Queue) {
	p := y.pass
	for head := range queue.Heads(p.state) {
		if head.Class < model.ClassHigh && !p.budget.HasPools {
			break // nor does anybody after it
		}
		if head.Class < model.ClassHigh && !y.owns(head) {
			continue
		}
		at := p.order.SortKey(head)
		if at.Late {
			continue // who is over a quota takes from nobody
		}
		n := len(classes)
		if n == 0 || classes[n-1].Head().Key.Class != head.Class {
			classes, n = append(classes, &queue.Queue{Order: p.order}), n+1
		}
		heap.Push(classes[n-1], &queue.Run{Key: head, At: at})
	}
	return classes
}

// owns says that a task would stay within what its owner owns, with the least that it
// takes, and so may have back what others borrow of it.
func (y *prey) owns(k state.QueueKey) bool {
	run := k.Run.Value()
	own := y.pass.budget.Pool(run.Project, run.User)
	return own.Reserved > 0 && own.Beyond(int64(leastOf(&run.Shape))) == 0
}

// leastOf is the least that a shape takes.
func leastOf(s *model.Shape) uint32 {
	if s.MinGPUs > 0 {
		return s.MinGPUs
	}
	return s.GPUs
}

// served says that a task needs nobody's GPUs: it is placed by this plan, or others
// are being stopped for it already.
func (y *prey) served(key model.TaskKey) bool {
	p := y.pass
	return p.found.plans(key) || len(p.pool.kept[key]) > 0 || p.done[key]
}

// victim is an attempt that somebody of a higher class may preempt.
type victim struct {
	key    model.AttemptKey
	class  model.Class
	yields bool    // its job allows it
	lender *lender // its owner, of whom others may have GPUs back; nil: it holds no more than it owns
	loss   int64   // GPU-milliseconds since its last checkpoint
	gpus   uint32
	grace  time.Duration // from the first signal to the kill
	has    []slotOn      // once looked up
}

// holds is what stopping a victim would free.
func (v *victim) holds(s *state.State) []slotOn {
	if v.has == nil {
		v.has = holds(s, v.key)
	}
	return v.has
}

// lender is an owner that holds more than it owns.
type lender struct {
	more  int64 // by so many GPUs
	taken int64 // GPUs of those victims that are being looked at
}

type slotOn struct {
	node model.NodeID
	slot model.SlotKey
}

// compare is negative if v is the cheaper victim.
func (v *victim) compare(b *victim) int {
	return cmp.Or(cmp.Compare(v.class, b.class), model.CompareBools(b.yields, v.yields),
		cmp.Compare(v.loss, b.loss), cmp.Compare(v.gpus, b.gpus), b.key.Compare(v.key))
}

// note takes in a task that runs: a victim, or one whose GPUs will be free because it is
// being stopped. A search, which looks at all that runs, notes it on its way. Its first rank saved a
// checkpoint so long after the attempt began.
func (y *prey) note(task *model.Task, a *model.Attempt, job *model.Job, saved time.Duration) {
	switch {
	case a.Stop != model.ReasonNone || y.pass.beside.cleared[a.Key]:
		y.leaving[a.Key] = a.GPUs
	case a.Started == 0 || !job.Spec.Preemptible && y.pass.order.Tuning.Preempt != model.PreemptsLower:
	case y.firm(task, a) > 0:
		ripe := &y.ripe[min(task.Class, model.ClassCritical)]
		*ripe = sooner(*ripe, y.pass.now.Add(y.firm(task, a)))
	default:
		y.victims = append(y.victims, &victim{
			key: a.Key, class: task.Class, yields: job.Spec.Preemptible, gpus: a.GPUs, grace: a.Frozen.FenceLead(),
			loss: lossOf(a, saved, y.pass.now),
		})
	}
}

// lossOf is what an attempt that runs has done since a checkpoint, in GPU-milliseconds:
// thousands of GPUs for weeks are more nanoseconds than there are.
func lossOf(a *model.Attempt, saved time.Duration, now model.Time) int64 {
	return max(now.Sub(a.Started)-saved, 0).Milliseconds() * int64(a.GPUs)
}

// look looks up, once, who runs, and which GPUs will be free because their tasks
// are being stopped or cleaned up after.
func (y *prey) look() {
	if y.known {
		return
	}
	y.known = true
	s := y.pass.state
	if !y.seen {
		for key := range s.LiveTasks.All() {
			task, _ := s.Tasks.Get(key)
			a, _ := s.Attempts.Get(task.Newest())
			job, _ := s.Jobs.Get(key.Job)
			first, _ := s.Ranks.Get(a.Key.Rank(0))
			y.note(&task, &a, &job, first.Saved)
		}
	}
	stops := map[model.AttemptKey]bool{}
	for _, c := range y.pass.commands {
		if suspend, is := c.(*command.Suspend); is {
			for _, a := range suspend.Attempts {
				stops[a] = true
			}
		}
	}
	y.victims = slices.DeleteFunc(y.victims, func(v *victim) bool {
		if stops[v.key] {
			y.leaving[v.key] = v.gpus
		}
		return stops[v.key]
	})
	slices.SortFunc(y.victims, (*victim).compare)
	y.comes()
	y.lenders()
	y.owed = y.owes()
}

// comes finds the GPUs that will be free and are kept for nobody: of attempts that are being stopped, and those
// that are being cleaned.
func (y *prey) comes() {
	s := y.pass.state
	for key, slot := range s.Slots.All() {
		goes := slot.Owner == model.OwnerCleaning
		if slot.Owner == model.OwnerAttempt {
			_, goes = y.leaving[slot.Rank.Attempt()]
		}
		if goes && !s.Claims.Has(key) {
			y.coming[slot.Node] = append(y.coming[slot.Node], key)
		}
	}
	if !y.pass.budget.HasPools {
		return
	}
	for key, gpus := range y.leaving { // order-free: sums
		job, _ := s.Jobs.Get(key.Job)
		p := s.PoolOf(job.Spec.Project, job.Spec.User)
		y.going[p.Owner] += int64(gpus)
	}
}

// lenders finds out whose GPUs are borrowed, and how many each owner holds beyond what it owns
// once those have gone that are being stopped.
func (y *prey) lenders() {
	if !y.pass.budget.HasPools {
		return
	}
	all := map[model.ScopeKey]*lender{}
	for _, v := range y.victims {
		job, _ := y.pass.state.Jobs.Get(v.key.Job)
		p := y.pass.state.PoolOf(job.Spec.Project, job.Spec.User)
		more := p.Own - p.Reserved - y.going[p.Owner]
		if all[p.Owner] == nil && more > 0 {
			all[p.Owner] = &lender{more: more}
		}
		v.lender = all[p.Owner]
	}
}

// holds lists the GPUs of an attempt that are kept for nobody; those of ranks that have
// ended are being cleaned, and no longer its own.
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

// firm is for how long yet an attempt may not be stopped for a higher class: it has not run for long enough,
// or its task was stopped for others too often.
func (y *prey) firm(task *model.Task, a *model.Attempt) time.Duration {
	t, now := &y.pass.order.Tuning, y.pass.now
	least := t.PreemptMinRun
	if task.Preempted > 0 {
		least = max(least, t.PreemptCooldown)
	}
	return max(least-now.Sub(a.Started), queue.EarningTime(task, admission.Executed(task, a, now), t))
}

// await notes when one who found too little to take may find more.
func (y *prey) await(h *hunt) {
	for class, at := range y.ripe {
		if c := model.Class(class); c < h.class || c == h.class && h.owns { //nolint:gosec // few
			y.wake = sooner(y.wake, at)
		}
	}
}

// spent says that a task was stopped for others as often as its run time has earned.
func spent(task *model.Task, a *model.Attempt, t *model.Tuning, now model.Time) bool {
	return queue.EarningTime(task, admission.Executed(task, a, now), t) > 0
}
