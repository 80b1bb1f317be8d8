package sched

import (
	"container/heap"
	"iter"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Entry is a waiting task or service at its place in the order.
type Entry struct {
	Task      model.TaskKey
	Service   model.AllocationID // empty: it is a task
	Class     model.Class
	Position  int        // as of [Position]
	Held      bool       // it stands aside: not tried before it is released or what its job waits for has ended
	NotBefore model.Time // nor before this instant, the end of a backoff; 0: there is none
}

// Order yields the tasks and services that wait on s at the time now, in the order in which a
// pass tries them, without the first from of them. Who takes a page pays for that
// page and for stepping over what lies before it; only where tasks are held are
// they looked for first, among all tasks.
func Order(s *state.State, now model.Time, from int) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		position := 1
		for key, held := range merged(newOrder(s, now)) {
			if from--; from < 0 {
				e := Entry{Task: key.Task, Class: key.Class, Position: position, Held: held}
				e.Service, _ = s.Waiting.Get(key.Task)
				if task, _ := s.Tasks.Get(key.Task); task.NotBefore > now {
					e.NotBefore = task.NotBefore
				}
				if !yield(e) {
					return
				}
			}
			if !held {
				position++
			}
		}
	}
}

// merged yields the keys of all waiting tasks in order, and which are held.
func merged(o *order) iter.Seq2[state.QueueKey, bool] {
	return func(yield func(state.QueueKey, bool) bool) {
		held := o.heldTasks()
		for q := newQueue(o); q.Len() > 0; q.settle() {
			r := q.head()
			for len(held) > 0 && o.standing(held[0]).compare(r.at) < 0 {
				if !yield(held[0], true) {
					return
				}
				held = held[1:]
			}
			if !yield(r.key, false) {
				return
			}
			q.advance()
		}
		for _, key := range held {
			if !yield(key, true) {
				return
			}
		}
	}
}

// heldTasks finds the tasks that are held or whose jobs wait for others, in order. The
// queue's index leaves them out, but the use of the cluster counts them.
func (o *order) heldTasks() (keys []state.QueueKey) {
	use, _ := o.state.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	left := int(use.Queued) - (o.state.Queue.Len() - o.state.Waiting.Len())
	if left <= 0 {
		return nil
	}
	for _, task := range o.state.Tasks.All() {
		if task.State != model.TaskQueued {
			continue
		}
		if job, _ := o.state.Jobs.Get(task.Key.Job); !state.InLine(&job, &task) {
			keys = append(keys, state.KeyOf(&task, &job))
			if left--; left == 0 {
				break
			}
		}
	}
	slices.SortFunc(keys, o.compare)
	return keys
}

// firsts lists the first key of every run.
func (o *order) firsts() []state.QueueKey {
	if o.heads == nil {
		o.heads = slices.Collect(heads(o.state))
	}
	return o.heads
}

// few is how many keys of one run are stepped over before the next run is sought.
const few = 8

// heads yields the first key of every run. It goes on from key to key where runs
// are short, and from the head of each to the head of the next where they are long.
func heads(s *state.State) iter.Seq[state.QueueKey] {
	return func(yield func(state.QueueKey) bool) {
		var head state.QueueKey
		seek := state.QueueKey{Class: ^model.Class(0)} // before all
		for more := true; more; {
			more = false
			steps := 0
			for k := range s.Queue.From(seek) {
				if sameRun(k, head) {
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

// first is the first key of the queue at or after from.
func first(s *state.State, from state.QueueKey) (state.QueueKey, bool) {
	for k := range s.Queue.From(from) {
		return k, true
	}
	return state.QueueKey{}, false
}

// last is the greatest key that the run of k could hold.
func last(k state.QueueKey) state.QueueKey {
	k.Task = model.TaskKey{Job: ^model.JobID(0), Task: ^uint32(0)}
	return k
}

func sameRun(a, b state.QueueKey) bool { return a.Class == b.Class && a.Run == b.Run }

// run is the waiting tasks of one class, project, user and shape from its head
// on, or a single task.
type run struct {
	key    state.QueueKey // of the head
	at     standing       // of the head
	single bool
	done   bool
	looked int // tasks of it that wait and were looked at, of those who may preempt
}

// single is the run of one task, over at once if it does not wait.
func (o *order) single(key model.TaskKey) *run {
	t := ticketOf(o.state, key)
	k := t.key(o.state)
	return &run{key: k, at: o.standing(k), single: true, done: t.task.State != model.TaskQueued || t.task.Held}
}

// queue merges runs by the order of their heads.
type queue struct {
	order *order
	runs  []*run
}

func newQueue(o *order) *queue {
	q := &queue{order: o}
	for _, key := range o.firsts() {
		q.runs = append(q.runs, &run{key: key, at: o.standing(key)})
	}
	heap.Init(q)
	return q
}

// advance goes to the next task of the first run.
func (q *queue) advance() {
	next := q.head().key
	next.Task.Task++
	q.moveTo(next)
}

// skipJob goes to the next job's first task in the first run.
func (q *queue) skipJob() {
	next := q.head().key
	next.Task = model.TaskKey{Job: next.Task.Job + 1}
	q.moveTo(next)
}

func (q *queue) moveTo(from state.QueueKey) {
	r := q.head()
	next, found := first(q.order.state, from)
	if r.single || !found || !sameRun(next, r.key) {
		r.done = true
		return
	}
	r.key, r.at = next, q.order.standing(next)
}

// addSingles makes a run of its own of every task for which GPUs are kept, and of
// every one whose backoff is over and which keeps off GPUs that have failed it.
func (q *queue) addSingles() {
	s := q.order.state
	for task := range claimants(s) {
		heap.Push(q, q.order.single(task))
	}
	for k := range s.Due.All() {
		if k.At > q.order.now {
			break
		}
		if task, _ := s.Tasks.Get(k.Task); task.Avoid > 0 && !claims(s, k.Task) {
			heap.Push(q, q.order.single(k.Task))
		}
	}
	q.settle()
}

// claimants yields the tasks for which GPUs are kept.
func claimants(s *state.State) iter.Seq[model.TaskKey] {
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

// claims says that GPUs are kept for a task.
func claims(s *state.State, task model.TaskKey) bool {
	for c := range s.ClaimedFor.From(state.ClaimKey{Task: task}) {
		return c.Task == task
	}
	return false
}

func (q *queue) head() *run { return q.runs[0] }

// settle brings the run with the first task to the head, and drops those that
// are over.
func (q *queue) settle() {
	if q.Len() > 0 {
		heap.Fix(q, 0)
	}
	for q.Len() > 0 && q.head().done {
		heap.Pop(q)
	}
}

// Len is the number of runs.
func (q *queue) Len() int { return len(q.runs) }

// Less orders by the heads' order; runs that are over come first.
func (q *queue) Less(i, j int) bool {
	a, b := q.runs[i], q.runs[j]
	if a.done != b.done {
		return a.done
	}
	return a.at.compare(b.at) < 0
}

// Swap swaps two runs.
func (q *queue) Swap(i, j int) { q.runs[i], q.runs[j] = q.runs[j], q.runs[i] }

// Push adds a run.
func (q *queue) Push(x any) {
	if r, ok := x.(*run); ok {
		q.runs = append(q.runs, r)
	}
}

// Pop removes the last run.
func (q *queue) Pop() any {
	r := q.runs[len(q.runs)-1]
	q.runs = q.runs[:len(q.runs)-1]
	return r
}
