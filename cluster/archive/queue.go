package archive

import (
	"sync"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxQueued bounds the queue, in bytes: some hundred thousand records.
const maxQueued = 64 << 20

// maxHeld bounds the old states in the queue, each of which keeps in memory what has left the state since.
// Without one a job's history stays as it was stored at the job's end.
const maxHeld = 64

// notedEach is the size of an entry in the queue in addition to its records.
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

// queue holds what waits to be written.
type queue struct {
	wake chan struct{}

	mu   sync.Mutex
	list []noted
	size int
}

// add reports whether the queue was dropped: the archive then finds the records missing and takes them from
// other peers.
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

// held returns the number of old states that wait.
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

// back puts unwritten records before those that have come since, if both fit.
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

// broadcast wakes all waiters.
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
