package sched

import (
	"container/heap"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// queue merges runs by the order of their heads.
type queue []*run

// newQueue finds the runs: it goes from the head of each to the head of the next.
func newQueue(s *state.State) *queue {
	q := &queue{}
	seek := state.QueueKey{Class: ^model.Class(0)} // before all
	for {
		r, found := runAt(s, seek)
		if !found {
			break
		}
		*q = append(*q, r)
		seek = r.key
		seek.Task = model.TaskKey{Job: ^model.JobID(0), Task: ^uint32(0)}
	}
	var last model.TaskKey
	for c := range s.ClaimedFor.All() {
		if c.Task != last {
			last = c.Task
			*q = append(*q, single(s, c.Task))
		}
	}
	heap.Init(q)
	q.settle()
	return q
}

// run is the waiting tasks of one class, project, user and shape from its head
// on, or a single task.
type run struct {
	key    state.QueueKey // of the head
	single bool
	done   bool
}

func runAt(s *state.State, from state.QueueKey) (*run, bool) {
	for k := range s.Queue.From(from) {
		return &run{key: k}, true
	}
	return nil, false
}

// single is the run of one task, over at once if it does not wait.
func single(s *state.State, key model.TaskKey) *run {
	task, _ := s.Tasks.Get(key)
	waits := task.State == model.TaskQueued && !task.Held
	return &run{key: state.QueueKey{Task: key}, single: true, done: !waits}
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
	next, found := runAt(s, from)
	if r.single || !found || !sameRun(next.key, r.key) {
		r.done = true
		return
	}
	r.key = next.key
}

func sameRun(a, b state.QueueKey) bool {
	a.Task, b.Task = model.TaskKey{}, model.TaskKey{}
	return a == b
}

func (q *queue) head() *run { return (*q)[0] }

// settle brings the run with the first task to the head, and drops those that
// are over.
func (q *queue) settle() {
	for q.Len() > 0 && q.head().done {
		heap.Pop(q)
	}
	if q.Len() > 0 {
		heap.Fix(q, 0)
	}
}

// Len is the number of runs.
func (q *queue) Len() int { return len(*q) }

// Less orders by the heads' place in the log; runs that are over come first.
func (q *queue) Less(i, j int) bool {
	a, b := (*q)[i], (*q)[j]
	if a.done != b.done {
		return a.done
	}
	return a.key.Task.Compare(b.key.Task) < 0
}

// Swap swaps two runs.
func (q *queue) Swap(i, j int) { (*q)[i], (*q)[j] = (*q)[j], (*q)[i] }

// Push adds a run.
func (q *queue) Push(x any) {
	if r, ok := x.(*run); ok {
		*q = append(*q, r)
	}
}

// Pop removes the last run.
func (q *queue) Pop() any {
	r := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return r
}
