package places

import (
	"sync"
	"time"
)

// Bounds of the cost of dry runs at a peer, which must not displace real submissions.
const (
	TrialPatience = time.Second     // for which a dry run waits for another to end
	trialCredit   = 5 * time.Second // that may be spent at once; it comes back in [foreseePart] times as long
)

// trials makes forecasts for single dry runs one at a time, within the credit of a peer.
type trials struct {
	turn  chan struct{} // full while one is being made
	mu    sync.Mutex
	spent time.Duration // of the credit, at a time
	at    time.Time
}

func newTrials() trials { return trials{turn: make(chan struct{}, 1)} }

// Begin takes the turn, and returns 0 if end must follow; else how long to wait before the next
// try.
func (t *trials) Begin(patience time.Duration) (wait time.Duration) {
	if over := t.debt(time.Now(), 0) - trialCredit; over > 0 {
		return over * foreseePart
	}
	select {
	case t.turn <- struct{}{}:
		return 0
	default:
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case t.turn <- struct{}{}:
		return 0
	case <-late.C:
		return time.Second
	}
}

// End returns the turn that was taken at a time.
func (t *trials) End(began time.Time) {
	now := time.Now()
	t.debt(now, now.Sub(began))
	<-t.turn
}

// debt returns the spent credit that has not come back, plus an amount.
func (t *trials) debt(now time.Time, more time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent = max(0, t.spent-now.Sub(t.at)/foreseePart) + more
	t.at = now
	return t.spent
}
