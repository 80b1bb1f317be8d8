package judge

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Record is the memory of one GPU between its readings. The zero Record is of a GPU that was never read.
type Record struct {
	fault  Fault
	quiet  time.Time // since when the GPU may have recovered from its fault; zero: it has not begun to
	lost   time.Time // since when it is not there; zero: it is
	states [causes]state
}

// Verdict is the health of a GPU and its reason.
type Verdict struct {
	Health model.Health
	Why    string // "" if it is healthy
	PID    int32  // the process to blame; 0: none is known
}

// Event is something that happened on a GPU.
type Event struct {
	Xid   uint64
	Class Class
	PID   int32 // the process that the kernel's log blames; 0: none
}

// Next returns the record after a reading at an instant, and the events. Instants must not run backwards;
// time that does not pass changes nothing but Xids.
func (c Config) Next(r Record, now time.Time, in Reading) (Record, []Event) {
	found := c.troubles(in)
	if in.Trouble == TroubleReset {
		found = append(found, finding{causeRecovery, "it needs a reset" + detail(in), 0, c.Settle})
	}
	if in.Trouble == TroubleNone {
		found = append(found, c.findings(&r, in)...)
	}
	for _, f := range found {
		r.states[f.cause] = r.states[f.cause].next(now, f)
	}
	r.miss(now, in, c.Rise)
	events := c.faults(&r, in.Xids)
	r.recover(now, in, c.Retest)
	return r, events
}

// miss records that a GPU is missing.
func (r *Record) miss(now time.Time, in Reading, rise time.Duration) {
	switch {
	case in.Trouble != TroubleLost:
		r.lost = time.Time{}
	case r.lost.IsZero():
		r.lost = now
	}
	if in.Trouble == TroubleLost && now.Sub(r.lost) >= rise {
		r.strike(Fault{Class: ClassRestart, Why: "the GPU is lost: restart the host" + detail(in)})
	}
}

// Verdict returns the verdict of the gravest cause that counts.
func (r *Record) Verdict() Verdict {
	if r.fault.Class >= ClassReset {
		return Verdict{Health: model.HealthQuarantined, Why: r.fault.Why, PID: r.fault.PID}
	}
	for c, s := range r.states {
		if s.On {
			return Verdict{Health: cause(c).health(), Why: s.why}
		}
	}
	return Verdict{Health: model.HealthHealthy}
}

// Gone reports whether the driver has lost the GPU in this life of the kernel.
func (r *Record) Gone() bool {
	const fallenOff = 79 // of the bus
	return r.fault.Class == ClassRestart && (r.fault.Xid == 0 || r.fault.Xid == fallenOff)
}

// Silent reports whether the driver did not answer the last call.
func (r *Record) Silent() bool { return r.states[causeSilent].seen }
