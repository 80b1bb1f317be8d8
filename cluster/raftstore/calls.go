package raftstore

import (
	"math"
	"sync"
	"time"
)

// call is a store call that has not returned.
type call struct {
	op       string
	snapshot bool
	start    time.Time
	forgiven time.Duration // what calls.forgiven was at the start
}

// oldest is the longest-running call and its duration.
type oldest struct {
	op  string
	age time.Duration
}

// calls are the store calls in flight.
type calls struct {
	mu       sync.Mutex
	next     uint64
	open     map[uint64]call
	forgiven time.Duration // time in which the whole process stood still
}

func (c *calls) begin(op string, snapshot bool) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	c.open[c.next] = call{op: op, snapshot: snapshot, start: time.Now(), forgiven: c.forgiven}
	return c.next
}

func (c *calls) end(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}

// forgive discounts a tick that came late. A process that was stopped, or a machine that was suspended, is
// not a disk that hangs.
func (c *calls) forgive(gap, interval time.Duration) {
	if gap <= 2*interval {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgiven += gap - interval
}

func (c *calls) oldest(now time.Time, snapshot bool) oldest {
	c.mu.Lock()
	defer c.mu.Unlock()
	best := oldest{age: math.MinInt64}
	for _, k := range c.open {
		if age := now.Sub(k.start) - (c.forgiven - k.forgiven); k.snapshot == snapshot && age > best.age {
			best = oldest{op: k.op, age: age}
		}
	}
	best.age = max(best.age, 0)
	return best
}

// latch keeps the first error for ever.
type latch struct {
	mu       sync.Mutex
	err      error
	watching bool
	tripped  chan struct{} // closed at the first error
	over     chan struct{} // closed when Watch has returned
	ending   sync.Once
}

func (l *latch) get() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// trip latches err, unless an earlier one is latched, and returns err.
func (l *latch) trip(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		close(l.tripped)
	}
	return err
}

func (l *latch) watch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watching = true
}

func (l *latch) watched() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watching
}

func (l *latch) end() { l.ending.Do(func() { close(l.over) }) }
