package archive

import (
	"sync"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxQueued bounds what waits to be written, in bytes: some hundred thousand records.
const maxQueued = 64 << 20

// maxHeld bounds the old states that wait, each of which keeps in memory what has left
// the state since. Without one a job's history stays as it was kept at the job's end.
const maxHeld = 64

// notedEach is what an entry in the queue counts for besides its records.
const notedEach = 256

// noted is what one log entry adds.
type noted struct {
	links   []state.AuditLink
	retired []model.JobID
	before  state.State // in which the retired jobs still are
}

func (n *noted) size() int {
	size := notedEach
	for i := range n.links {
		size += notedEach + len(n.links[i].Record)
	}
	return size
}

// queue is what waits to be written.
type queue struct {
	wake chan struct{}

	mu   sync.Mutex
	list []noted
	size int
}

// add reports whether what had waited was given up: the archive finds that it is missing
// and takes it from elsewhere.
func (q *queue) add(n noted) (lost bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(n.retired) == 0 || q.held() >= maxHeld {
		n.before, n.retired = state.State{}, nil // keeps no old state alive
	}
	if q.size+n.size() > maxQueued {
		q.list, q.size, lost = nil, 0, true
	}
	q.list, q.size = append(q.list, n), q.size+n.size()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return lost
}

// held counts the old states that wait.
func (q *queue) held() (n int) {
	for i := range q.list {
		if len(q.list[i].retired) > 0 {
			n++
		}
	}
	return n
}

// take empties the queue.
func (q *queue) take() []noted {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list, q.size = nil, 0
	return list
}

// back puts what could not be written before what has come since, if both fit.
func (q *queue) back(list []noted) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := 0
	for i := range list {
		size += list[i].size()
	}
	if q.size+size <= maxQueued {
		q.list, q.size = append(list, q.list...), q.size+size
	}
}

// broadcast wakes all who wait.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
