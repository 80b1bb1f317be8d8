package leader

import (
	"context"
	"sync"
	"time"
)

// Bounds of the pulse.
const (
	pulsePeriod = 250 * time.Millisecond
	pulseLate   = 2 * time.Second // a beat that late means that the process stood still
)

// pulse notices that this process stood still: stopped, starved or asleep with
// its host. Whoever looks also beats, so that after a stall nobody counts it
// before the ticker has come round.
type pulse struct {
	clock Clock

	mu      sync.Mutex
	last    time.Duration // of the newest beat
	stalled time.Duration // when the last stall was noticed; 0: never
}

func newPulse(c Clock) *pulse { return &pulse{clock: c, last: c.Boot()} }

// beat is the reading of now, and when the last stall was noticed.
func (p *pulse) beat() (now, stalled time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now = p.clock.Boot()
	if now-p.last > pulsePeriod+pulseLate {
		p.stalled = now
	}
	p.last = max(p.last, now)
	return now, p.stalled
}

func (p *pulse) run(ctx context.Context) {
	t := time.NewTicker(pulsePeriod)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			p.beat()
		}
	}
}
