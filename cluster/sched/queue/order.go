package queue

import (
	"container/heap"
	"iter"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// Entry is a waiting task or service at its place in the order.
type Entry struct {
	Task      model.TaskKey
	Service   model.AllocationID // empty: it is a task
	Class     model.Class
	Position  int        // as of [Position]
	Held      bool       // it is not tried before it is released or what its job waits for has ended
	NotBefore model.Time // nor before this instant, the end of a backoff; 0: there is none
}

// Order yields the tasks and services that wait on s at the time now, in the order in which a pass tries them: those
// with GPUs, then those without, which have positions of their own. It skips the first from of them. A page costs the steps for that page
// and for what lies before it. Where tasks are held, these are looked for first, among all tasks.
func Order(s *state.State, now model.Time, from int) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		o := NewOrdering(s, now)
		for _, keys := range []iter.Seq2[state.QueueKey, bool]{Keys(o), CPUKeys(o)} {
			position := 1
			for key, held := range keys {
				if from--; from < 0 && !yield(entryOf(o, key, position, held)) {
					return
				}
				if !held {
					position++
				}
			}
		}
	}
}

func entryOf(o *Ordering, key state.QueueKey, position int, held bool) Entry {
	e := Entry{Task: key.Task, Class: key.Class, Position: position, Held: held}
	e.Service, _ = o.State.Waiting.Get(key.Task)
	if task, _ := o.State.Tasks.Get(key.Task); task.NotBefore > o.Now {
		e.NotBefore = task.NotBefore
	}
	return e
}

// Keys yields the keys of all waiting tasks with GPUs in order, and whether each is held.
func Keys(o *Ordering) iter.Seq2[state.QueueKey, bool] { return o.keys(NewQueue, false) }

// CPUKeys yields the keys of all waiting tasks of jobs without GPUs in order, and whether each is held.
func CPUKeys(o *Ordering) iter.Seq2[state.QueueKey, bool] { return o.keys(NewCPUQueue, true) }

func (o *Ordering) keys(line func(*Ordering) *Queue, withoutGPUs bool) iter.Seq2[state.QueueKey, bool] {
	return func(yield func(state.QueueKey, bool) bool) {
		held := o.heldTasks(withoutGPUs)
		for q := line(o); q.Len() > 0; q.Reorder() {
			r := q.Head()
			for len(held) > 0 && o.SortKey(held[0]).Compare(r.At) < 0 {
				if !yield(held[0], true) {
					return
				}
				held = held[1:]
			}
			if !yield(r.Key, false) {
				return
			}
			q.Advance()
		}
		for _, key := range held {
			if !yield(key, true) {
				return
			}
		}
	}
}

// heldTasks finds the tasks that are held and those of jobs that wait for others, of jobs with GPUs or without, in
// order. The indexes of the queue leave these out, but the use of the cluster counts them.
func (o *Ordering) heldTasks(withoutGPUs bool) (keys []state.QueueKey) {
	use, _ := o.State.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	left := int(use.Queued) - (o.State.Queue.Len() - o.State.Waiting.Len()) - o.State.CPUQueue.Len()
	if left <= 0 {
		return nil
	}
	for _, task := range o.State.Tasks.All() {
		if task.State != model.TaskQueued {
			continue
		}
		if job, _ := o.State.Jobs.Get(task.Key.Job); !state.InLine(&job, &task) {
			if job.Spec.WithoutGPUs() == withoutGPUs {
				keys = append(keys, state.KeyOf(&task, &job))
			}
			if left--; left == 0 {
				break
			}
		}
	}
	slices.SortFunc(keys, o.compare)
	return keys
}

// Heads returns the first key of every run.
func (o *Ordering) Heads() []state.QueueKey {
	if o.heads == nil {
		o.heads = slices.Collect(Heads(o.State))
	}
	return o.heads
}

// few is how many keys of one run are stepped over before the next run is sought.
const few = 8

// Heads yields the first key of every run of tasks with GPUs.
func Heads(s *state.State) iter.Seq[state.QueueKey] { return headsOf(s.Queue) }

// line is the waiting tasks of jobs with GPUs, or without.
type line = table.Table[state.QueueKey, state.None]

// headsOf yields the first key of every run. It goes on from key to key where runs
// are short, and from the head of each to the head of the next where they are long.
func headsOf(all line) iter.Seq[state.QueueKey] {
	return func(yield func(state.QueueKey) bool) {
		var head state.QueueKey
		seek := state.QueueKey{Class: ^model.Class(0)} // before all
		for more := true; more; {
			more = false
			steps := 0
			for k := range all.From(seek) {
				if SameRun(k, head) {
					if steps++; steps == few {
						seek, more = last(head), true
						break
					}
					continue
				}
				if head, steps = k, 0; !yield(k) {
					return
				}
			}
		}
	}
}

// KeyFrom returns the first key of the queue of tasks with GPUs at or after from.
func KeyFrom(s *state.State, from state.QueueKey) (state.QueueKey, bool) {
	return keyFrom(s.Queue, from)
}

func keyFrom(all line, from state.QueueKey) (state.QueueKey, bool) {
	for k := range all.From(from) {
		return k, true
	}
	return state.QueueKey{}, false
}

// last returns the greatest key that the run of k could hold.
func last(k state.QueueKey) state.QueueKey {
	k.Since, k.Task = model.Never, model.TaskKey{Job: ^model.JobID(0), Task: ^uint32(0)}
	return k
}

// SameRun reports whether two keys are of one run.
func SameRun(a, b state.QueueKey) bool { return a.Class == b.Class && a.Run == b.Run }

// Run is the waiting tasks of one class, project, user and shape from its head
// on, or a single task.
type Run struct {
	Key      state.QueueKey // of the head
	At       SortKey        // of the head
	Single   bool
	Done     bool
	Examined int // waiting tasks of it that were looked at as preemptors
}

// single returns the run of one task, which is over at once if the task does not wait.
func (o *Ordering) single(key model.TaskKey) *Run {
	t := admission.TicketOf(o.State, key)
	k := t.QueueKey(o.State)
	return &Run{Key: k, At: o.SortKey(k), Single: true, Done: t.Task.State != model.TaskQueued || t.Task.Held}
}

// Queue merges runs by the order of their heads.
type Queue struct {
	Order *Ordering
	all   line
	runs  []*Run
}

// NewQueue returns the queue of all runs of tasks with GPUs.
func NewQueue(o *Ordering) *Queue { return newQueue(o, o.State.Queue, slices.Values(o.Heads())) }

// NewEmptyQueue returns a queue without runs, for runs of tasks with GPUs.
func NewEmptyQueue(o *Ordering) *Queue { return &Queue{Order: o, all: o.State.Queue} }

// NewCPUQueue returns the queue of all runs of jobs without GPUs.
func NewCPUQueue(o *Ordering) *Queue { return newQueue(o, o.State.CPUQueue, headsOf(o.State.CPUQueue)) }

func newQueue(o *Ordering, all line, heads iter.Seq[state.QueueKey]) *Queue {
	q := &Queue{Order: o, all: all}
	for key := range heads {
		q.runs = append(q.runs, &Run{Key: key, At: o.SortKey(key)})
	}
	heap.Init(q)
	return q
}

// Advance goes to the next task of the first run.
func (q *Queue) Advance() {
	next := q.Head().Key
	next.Task.Task++
	q.moveTo(next)
}

// SkipJob goes to the next job's first task in the first run.
func (q *Queue) SkipJob() {
	next := q.Head().Key
	next.Task = model.TaskKey{Job: next.Task.Job + 1}
	q.moveTo(next)
}

func (q *Queue) moveTo(from state.QueueKey) {
	r := q.Head()
	next, found := keyFrom(q.all, from)
	if r.Single || !found || !SameRun(next, r.Key) {
		r.Done = true
		return
	}
	r.Key, r.At = next, q.Order.SortKey(next)
}

// AddSingles makes a run of its own of every task for which GPUs are kept. It does the same for every task that
// keeps off GPUs that have failed it, once the backoff of the task is over.
func (q *Queue) AddSingles() {
	s := q.Order.State
	for task := range Claimants(s) {
		heap.Push(q, q.Order.single(task))
	}
	for k := range s.Due.All() {
		if k.At > q.Order.Now {
			break
		}
		if t := admission.TicketOf(s, k.Task); t.Task.Avoid > 0 && !t.Job.Spec.WithoutGPUs() && !claims(s, k.Task) {
			heap.Push(q, q.Order.single(k.Task))
		}
	}
	q.Reorder()
}

// Claimants yields the tasks for which GPUs are kept.
func Claimants(s *state.State) iter.Seq[model.TaskKey] {
	return func(yield func(model.TaskKey) bool) {
		var before model.TaskKey
		for c := range s.ClaimedFor.All() {
			if c.Task != before && !yield(c.Task) {
				return
			}
			before = c.Task
		}
	}
}

// claims reports whether GPUs are kept for a task.
func claims(s *state.State, task model.TaskKey) bool {
	for c := range s.ClaimedFor.From(state.ClaimKey{Task: task}) {
		return c.Task == task
	}
	return false
}

// Head returns the run with the task that goes first.
func (q *Queue) Head() *Run { return q.runs[0] }

// Reorder brings the run with the first task to the head, and drops runs that are over.
func (q *Queue) Reorder() {
	if q.Len() > 0 {
		heap.Fix(q, 0)
	}
	for q.Len() > 0 && q.Head().Done {
		heap.Pop(q)
	}
}

// Len returns the number of runs.
func (q *Queue) Len() int { return len(q.runs) }

// Less orders by the heads' order; runs that are over come first.
func (q *Queue) Less(i, j int) bool {
	a, b := q.runs[i], q.runs[j]
	if a.Done != b.Done {
		return a.Done
	}
	return a.At.Compare(b.At) < 0
}

// Swap swaps two runs.
func (q *Queue) Swap(i, j int) { q.runs[i], q.runs[j] = q.runs[j], q.runs[i] }

// Push adds a run.
func (q *Queue) Push(x any) {
	if r, ok := x.(*Run); ok {
		q.runs = append(q.runs, r)
	}
}

// Pop removes the last run.
func (q *Queue) Pop() any {
	r := q.runs[len(q.runs)-1]
	q.runs = q.runs[:len(q.runs)-1]
	return r
}

// CountBefore counts the tasks of the head's job that come before a place in the order.
func (q *Queue) CountBefore(place SortKey) (n int) {
	r := q.Head()
	for k := range q.all.From(r.Key) {
		if k.Task.Job != r.Key.Task.Job || !SameRun(k, r.Key) || n == exactUpTo || q.Order.SortKey(k).Compare(place) >= 0 {
			break
		}
		n++
	}
	return n
}
