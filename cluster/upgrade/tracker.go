package upgrade

import (
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Record is a peer's record of its program, which its data folder keeps.
type Record struct {
	Level   uint32     `json:"level"`             // the greatest feature level that the program knows
	Since   model.Time `json:"since,omitempty"`   // from when on the peer's program knows it, by the state's clock; 0: since the peer became a member
	Cluster uint32     `json:"cluster,omitempty"` // the greatest feature level that the peer has seen the cluster at
}

// Report is what a peer reports of its program. It goes with the exchange and not into the log: there, a peer whose program is older
// would halt at a field that it does not know, and the hold is for clusters that have such peers.
type Report struct {
	Since model.Time    `cbor:"1,keyasint,omitempty"` // from when on the program knows its level; 0: since the peer became a member
	Hold  time.Duration `cbor:"2,keyasint,omitempty"`
	Began model.Time    `cbor:"3,keyasint,omitempty"` // when the process began
}

// Show adds a report to what is known of a peer; nil: there is none.
func (r *Report) Show(p *Peer) {
	if r != nil {
		p.Settled, p.Since, p.Hold, p.Began = true, r.Since, r.Hold, r.Began
	}
}

// Tracker tracks since when a peer's program knows its feature level. Its methods may be called from any goroutine.
type Tracker struct {
	level uint32
	hold  time.Duration
	began model.Time

	mu      sync.Mutex
	fresh   bool
	kept    Record
	settled bool
	lower   model.Time // the newest clock at which the state had this peer at a lower level; 0: it never had
}

// NewTracker returns a tracker for a program that knows a level, of a process that began at an instant. kept is the record of
// the process before; zero: there is none.
func NewTracker(level uint32, hold time.Duration, began model.Time, kept Record) *Tracker {
	return &Tracker{level: level, hold: hold, began: began, kept: kept}
}

// Fresh notes that the peer has been in no cluster yet: it founds or joins one with this program.
func (t *Tracker) Fresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fresh = true
}

// See notes which level the state has for this peer, before each entry. The leader records the level of each peer's program in the
// state. So a change from a lower level to the program's is the instant of an upgrade, also if the peer had gone back to an
// older program meanwhile, which leaves the record as it is.
func (t *Tracker) See(level uint32, clock model.Time) {
	if level < t.level {
		t.mu.Lock()
		t.lower = clock
		t.mu.Unlock()
	}
}

// Next returns the record as of a state that has caught up: in which the cluster is at a level, and has the peer at the level own;
// 0: it does not have the peer. settled reports whether the leader has recorded the program.
func (t *Tracker) Next(cluster, own uint32, clock model.Time) (next Record, settled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next = t.kept
	next.Cluster = max(next.Cluster, cluster)
	if own < t.level {
		return next, false
	}
	switch {
	case next.Level == t.level:
		next.Since = max(next.Since, t.lower)
	case t.lower > 0, t.fresh && next.Level == 0:
		next.Level, next.Since = t.level, t.lower
	default: // a snapshot has brought the level of the peer
		next.Level, next.Since = t.level, clock
	}
	return next, true
}

// Kept returns the record that is kept.
func (t *Tracker) Kept() Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}

// Keep notes a record that has been stored.
func (t *Tracker) Keep(r Record, settled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept, t.settled = r, settled
}

// Report returns what this peer reports of its program; nil: it is not known yet.
func (t *Tracker) Report() *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.settled {
		return nil
	}
	return &Report{Since: t.kept.Since, Hold: t.hold, Began: t.began}
}

// Began returns when the process began.
func (t *Tracker) Began() model.Time { return t.began }
