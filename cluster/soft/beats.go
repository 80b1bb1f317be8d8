package soft

import (
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Beats is when the clients of attached jobs were last heard. Its methods may be called from any goroutine.
type Beats struct {
	boot func() time.Duration // a clock that never jumps

	mu   sync.Mutex
	last map[model.JobID]time.Duration
}

// NewBeats returns an empty book over a clock that never jumps.
func NewBeats(boot func() time.Duration) *Beats {
	return &Beats{boot: boot, last: map[model.JobID]time.Duration{}}
}

// Hear notes a sign of life of a job's client.
func (b *Beats) Hear(job model.JobID) {
	now := b.boot()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last[job] = now
}

// Last returns when a job's client was last heard; 0: never here.
func (b *Beats) Last(job model.JobID) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last[job]
}

// Keep drops the jobs for which job returns false.
func (b *Beats) Keep(job func(model.JobID) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.last {
		if !job(id) {
			delete(b.last, id)
		}
	}
}
