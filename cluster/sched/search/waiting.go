package search

import (
	"container/heap"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// spare is how many jobs of each run are looked at in any case. An outlook starts them between two searches; a plan
// without an outlook looks at the same jobs, so that both plans are equal.
const spare = 4

// ample is how many GPUs the jobs that come before all those left out ask for, at least, in percent of the GPUs
// that the search can give away.
const ample = 150

// waitingRuns are the runs of waiting jobs, of which a search looks at no more jobs than it must. Of each run it looks
// at the jobs that would find GPUs if all jobs that may be suspended were gone, and at as many again of the jobs
// that keep off GPUs. Of the small jobs of all runs together it looks at those that go first. A layout is marked
// as short if the search would have had to look at more.
type waitingRuns struct {
	*builder

	widths split.Widths

	open  uint32                 // GPUs that a search can give away
	tried map[model.TaskKey]bool // tasks that have been tried before; true: it is too early for the next try
	cut   []*waitingRun          // runs with more jobs to look at, as a heap by the last job looked at
}

// waiting adds the jobs that wait.
func (b *builder) waiting() *waitingRuns {
	q := &waitingRuns{builder: b, widths: split.Widths{Room: b.room}, tried: map[model.TaskKey]bool{}}
	q.open = uint32(max(b.gpus-b.stays, 0))
	if b.keeper != nil {
		q.open = uint32(b.pass.State.Slots.Len())
	}
	for k := range b.pass.State.Due.All() {
		q.tried[k.Task] = k.At > b.pass.Now
	}
	for _, head := range b.pass.Order.Heads() {
		l := q.line(head)
		n := spare
		if l.whole {
			n = b.pass.State.Queue.Len()
		}
		if l.add(n); !l.over {
			q.cut = append(q.cut, l)
		}
	}
	heap.Init(q)
	for before := uint64(0); q.Len() > 0; {
		l := q.cut[0]
		if before += uint64(l.newly); before*100 >= uint64(q.open)*ample && l.at.Front == 0 {
			break
		}
		l.add(l.n)
		if l.over {
			heap.Pop(q)
		} else {
			heap.Fix(q, 0)
		}
	}
	return q
}

// all adds the jobs that were left out.
func (q *waitingRuns) all() {
	for _, l := range q.cut {
		l.add(q.pass.State.Queue.Len())
	}
	q.cut = nil
}

// rest returns, for each run with jobs left out, what these are like and after which of all jobs they come.
func (q *waitingRuns) rest(all []candidate) (out []split.Rest) {
	for _, l := range q.cut {
		at, _ := slices.BinarySearchFunc(all, l.at, func(c candidate, at queue.SortKey) int { return c.at.Compare(at) })
		out = append(out, split.Rest{After: at, Job: l.like})
	}
	slices.SortStableFunc(out, func(a, b split.Rest) int { return a.After - b.After })
	return out
}

// Len returns the number of runs of which some jobs are left out.
func (q *waitingRuns) Len() int { return len(q.cut) }

// Less orders runs by the job that was looked at last.
func (q *waitingRuns) Less(i, j int) bool { return q.cut[i].at.Compare(q.cut[j].at) < 0 }

// Swap swaps two runs.
func (q *waitingRuns) Swap(i, j int) { q.cut[i], q.cut[j] = q.cut[j], q.cut[i] }

// Push adds a run.
func (q *waitingRuns) Push(x any) {
	if l, ok := x.(*waitingRun); ok {
		q.cut = append(q.cut, l)
	}
}

// Pop removes the last run.
func (q *waitingRuns) Pop() any {
	l := q.cut[len(q.cut)-1]
	q.cut = q.cut[:len(q.cut)-1]
	return l
}

// waitingRun is one run, with how far it was looked at.
type waitingRun struct {
	*waitingRuns

	run     state.Run
	like    split.Job
	next    state.QueueKey // of the job to look at next
	at      queue.SortKey  // of the job looked at last
	whole   bool           // no job that might find GPUs is left out
	limited bool           // some may not run for as long as they ask for
	n       int            // jobs looked at
	over    bool           // there is no further job to look at
	requested
	queued quota
}

// requested counts GPUs that are asked for, at least.
type requested struct {
	sum, picky uint32 // by all, and by those that keep off GPUs
	newly      uint32 // by the jobs added last
}

// line returns the run of a head.
func (q *waitingRuns) line(head state.QueueKey) *waitingRun {
	l := &waitingRun{waitingRuns: q, run: head.Run.Value(), next: head}
	run := &l.run
	l.like = q.job(run, split.Job{Shape: q.keeper.alike(*run, q.shape(place.ShapeOf(q.pass.State, run)).number)})
	l.like.Stay = q.pass.Order.Stay(head, q.pass.Order.Strict)
	if !run.Throttled {
		l.like.Uses = q.bounds.uses(run, 0, false)
	}
	l.limited = slices.ContainsFunc(q.bounds.limitsOf(run.Project, run.User), func(l model.Limit) bool { return l.RunTime > 0 })
	q.widths.Sites = q.sites
	l.whole = run.Again || run.Throttled || l.like.Least > 0 || q.widths.IsGang(&l.like) || q.pass.Order.Late(run.Project, run.User)
	return l
}

// add adds the next n jobs of a run.
func (l *waitingRun) add(n int) {
	b, p := l.builder, l.pass
	least := l.run.Shape.MinGPUs
	if least == 0 {
		least = max(l.run.Shape.GPUs, 1)
	}
	l.newly = 0
	for k := range p.State.Queue.From(l.next) {
		if !queue.SameRun(k, l.next) || l.sum >= l.open && l.n >= spare {
			break
		}
		if n == 0 {
			l.next = k
			return
		}
		wait, again := l.tried[k.Task]
		if wait || p.Done[k.Task] || len(p.Free.Claimed[k.Task]) > 0 || l.limited && !admission.RunTimeAllowed(p.State, k.Task) {
			continue
		}
		j := l.like
		j.Drains, j.Stay = p.Order.Drains(k), p.Order.Stay(k, p.Order.Strict)
		if l.run.Throttled {
			if !l.queued.more(p.State, k.Task.Job) {
				continue
			}
			j.Uses = b.bounds.uses(&l.run, k.Task.Job, false)
		}
		n--
		l.n++
		b.keeper.waiting(k)
		if again {
			j.Shuns = b.shuns(k.Task)
		}
		if len(j.Shuns) > 0 {
			j.Shape = -1 // the job is like no other
		}
		if len(j.Shuns) > 0 && l.picky < l.open {
			l.picky += least // later jobs may have what this one keeps off
		} else {
			l.sum += least
			l.newly += least
		}
		l.at = p.Order.SortKey(k)
		b.add(candidate{at: l.at, key: k}, j, l.run.Shape.GPUs)
	}
	l.over = true
}

// quota counts the tasks of one job that come one after the other.
type quota struct {
	job  model.JobID
	left uint32
}

// more counts one more task of a job, and reports whether the job may run so many at once.
func (q *quota) more(s *state.State, id model.JobID) bool {
	if q.job != id {
		job, _ := s.Jobs.Get(id)
		*q = quota{id, job.Throttle}
	}
	if q.left == 0 {
		return false
	}
	q.left--
	return true
}
