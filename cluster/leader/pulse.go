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
	pulseJump   = time.Second     // between two beats the wall clock gained or lost that much: it was set
)

// pulse detects that this process was stopped, starved or asleep with its host. A reader also beats, so that
// after a stall no decider counts the stall as silence before the ticker has come round.
//
// A pulse also detects that the wall clock was set. Timers for wall-clock deadlines do not see such a jump,
// so every decider is then woken.
type pulse struct {
	clock  Clock
	jumped []chan struct{} // one for each loop, with room for one notice

	mu      sync.Mutex
	last    time.Duration // of the newest beat
	stalled time.Duration // when the last stall was noticed; 0: never
}

func newPulse(c Clock) *pulse { return &pulse{clock: c, last: c.Boot()} }

// beat returns the current reading, and when the last stall was detected.
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
	offset := p.offset()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			p.beat()
			if now := p.offset(); (now - offset).Abs() >= pulseJump {
				offset = now
				p.notify()
			}
		}
	}
}

// offset returns how far the wall clock is ahead of the boot clock, from an arbitrary zero.
func (p *pulse) offset() time.Duration {
	return time.Duration(p.clock.Wall().UnixNano()) - p.clock.Boot()
}

// listen returns a channel that receives after the wall clock was set. It must be called
// before run.
func (p *pulse) listen() <-chan struct{} {
	ch := make(chan struct{}, 1)
	p.jumped = append(p.jumped, ch)
	return ch
}

func (p *pulse) notify() {
	for _, ch := range p.jumped {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
