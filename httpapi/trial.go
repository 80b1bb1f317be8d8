package httpapi

import (
	"sync"
	"time"
)

// Bounds of what submissions that are only tried out may take of a peer, which has
// others' to carry out.
const (
	trialPatience = time.Second     // for which one waits for another to be done
	trialCredit   = 5 * time.Second // that may be spent at once; it comes back in [foreseePart] times as long
)

// trials lets forecasts that are for one submission alone be made one at a time, and no
// more than a peer may spend on them.
type trials struct {
	turn  chan struct{} // holds something while one is made
	mu    sync.Mutex
	spent time.Duration // of the credit, at an instant
	at    time.Time
}

func newTrials() trials { return trials{turn: make(chan struct{}, 1)} }

// begin takes the turn, and is 0 if end must follow; else it is how long to wait before
// asking again.
func (t *trials) begin(patience time.Duration) (wait time.Duration) {
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

// end gives the turn back that was taken at an instant.
func (t *trials) end(began time.Time) {
	now := time.Now()
	t.debt(now, now.Sub(began))
	<-t.turn
}

// debt is what has been spent and has not come back, with what is added.
func (t *trials) debt(now time.Time, more time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent = max(0, t.spent-now.Sub(t.at)/foreseePart) + more
	t.at = now
	return t.spent
}
