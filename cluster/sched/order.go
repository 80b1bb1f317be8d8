package sched

import (
	"container/heap"
	"iter"
	"slices"
	"unique"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Entry is a waiting task at its place in the order.
type Entry struct {
	Task      model.TaskKey
	Class     model.Class
	Position  int        // as of [Position]
	Held      bool       // it is not tried before it is released
	NotBefore model.Time // nor before this instant, the end of a backoff; 0: there is none
}

// Order yields the tasks that wait on s at the time now, in the order in which a
// pass tries them, without the first from of them. Who takes a page pays for that
// page and for stepping over what lies before it; only where tasks are held are
// they looked for first, among all tasks.
func Order(s *state.State, now model.Time, from int) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		position := 1
		for key, held := range merged(s, policyOf(s)) {
			if from--; from < 0 {
				e := Entry{Task: key.Task, Class: key.Class, Position: position, Held: held}
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
func merged(s *state.State, policy Policy) iter.Seq2[state.QueueKey, bool] {
	return func(yield func(state.QueueKey, bool) bool) {
		held := heldTasks(s, policy)
		for q := newQueue(s, policy); q.Len() > 0; q.settle() {
			r := q.head()
			for len(held) > 0 && policy.Compare(held[0], r.key) < 0 {
				if !yield(held[0], true) {
					return
				}
				held = held[1:]
			}
			if !yield(r.key, false) {
				return
			}
			r.advance(s)
		}
		for _, key := range held {
			if !yield(key, true) {
				return
			}
		}
	}
}

// heldTasks finds the tasks that are held, in order. The queue's index leaves them
// out, but the use of the cluster counts them.
func heldTasks(s *state.State, policy Policy) (keys []state.QueueKey) {
	use, _ := s.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	left := int(use.Queued) - s.Queue.Len()
	if left <= 0 {
		return nil
	}
	for _, task := range s.Tasks.All() {
		if task.State == model.TaskQueued && task.Held {
			job, _ := s.Jobs.Get(task.Key.Job)
			keys = append(keys, keyOf(&task, &job.Spec))
			if left--; left == 0 {
				break
			}
		}
	}
	slices.SortFunc(keys, policy.Compare)
	return keys
}

// keyOf is the key that a task has, or would have, in the queue.
func keyOf(task *model.Task, spec *model.Spec) state.QueueKey {
	run := unique.Make(state.Run{Project: spec.Project, User: spec.User, Shape: spec.Shape()})
	return state.QueueKey{Class: task.Class, Run: run, Task: task.Key}
}

// heads yields the first key of every run: it goes from the head of each to the
// head of the next.
func heads(s *state.State) iter.Seq[state.QueueKey] {
	return func(yield func(state.QueueKey) bool) {
		seek := state.QueueKey{Class: ^model.Class(0)} // before all
		for {
			key, found := first(s, seek)
			if !found || !yield(key) {
				return
			}
			seek = last(key)
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
	single bool
	done   bool
}

// single is the run of one task, over at once if it does not wait.
func single(s *state.State, key model.TaskKey) *run {
	task, _ := s.Tasks.Get(key)
	job, _ := s.Jobs.Get(key.Job)
	waits := task.State == model.TaskQueued && !task.Held
	return &run{key: keyOf(&task, &job.Spec), single: true, done: !waits}
}

// advance goes to the next task of the run.
func (r *run) advance(s *state.State) {
	next := r.key
	next.Task.Task++
	r.moveTo(s, next)
}

// skipJob goes to the next job's first task in the run.
func (r *run) skipJob(s *state.State) {
	next := r.key
	next.Task = model.TaskKey{Job: r.key.Task.Job + 1}
	r.moveTo(s, next)
}

func (r *run) moveTo(s *state.State, from state.QueueKey) {
	next, found := first(s, from)
	if r.single || !found || !sameRun(next, r.key) {
		r.done = true
		return
	}
	r.key = next
}

// queue merges runs by the order of their heads.
type queue struct {
	policy Policy
	runs   []*run
}

func newQueue(s *state.State, policy Policy) *queue {
	q := &queue{policy: policy}
	for key := range heads(s) {
		q.runs = append(q.runs, &run{key: key})
	}
	heap.Init(q)
	return q
}

// addSingles makes a run of its own of every task for which GPUs are kept, and of
// every one whose backoff is over and which keeps off GPUs that have failed it.
func (q *queue) addSingles(s *state.State, now model.Time) {
	var before model.TaskKey
	for c := range s.ClaimedFor.All() {
		if c.Task != before {
			before = c.Task
			heap.Push(q, single(s, c.Task))
		}
	}
	for k := range s.Due.All() {
		if k.At > now {
			break
		}
		if task, _ := s.Tasks.Get(k.Task); task.Avoid > 0 && !claims(s, k.Task) {
			heap.Push(q, single(s, k.Task))
		}
	}
	q.settle()
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
	return q.policy.Compare(a.key, b.key) < 0
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
