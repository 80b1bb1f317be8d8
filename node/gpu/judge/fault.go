package judge

import (
	"fmt"
	"time"
)

// Fault is why a GPU is quarantined until more than time has passed. It is the only part of a Record that
// outlives the agent.
type Fault struct {
	Class     Class  `json:"class"` // ClassNone: there is none; else ClassReset or graver
	Xid       uint64 `json:"xid,omitempty"`
	PID       int32  `json:"pid,omitempty"` // the process that the kernel's log blames; 0: none
	Why       string `json:"why,omitempty"`
	Restarted bool   `json:"restarted,omitempty"` // the host was, since then
	Relapses  uint8  `json:"relapses,omitempty"`  // how many faults were lifted before
}

// longest bounds the time that a GPU is watched before a fault is lifted.
const longest = 24 * time.Hour

// Restore returns the record of a fault that was known before. A restart of the host since then has reset
// every GPU: the graver faults may be lifted now, too.
func Restore(f Fault, restarted bool) Record {
	if f.Class != ClassNone && restarted && !f.Restarted {
		f.Class, f.Restarted = ClassReset, true
		f.Why = "on probation since the host was restarted: " + f.Why
	}
	return Record{fault: f}
}

// Fault returns the part of a record to be stored.
func (r *Record) Fault() Fault { return r.fault }

// faults applies the Xids of a reading.
func (c Config) faults(r *Record, xids []Xid) (out []Event) {
	for _, x := range xids {
		class := c.Class(x.Code)
		if class > ClassIgnore {
			out = append(out, Event{Xid: x.Code, Class: class, PID: x.PID})
		}
		if class >= ClassReset {
			r.strike(Fault{Class: class, Xid: x.Code, PID: x.PID, Why: fmt.Sprintf("Xid %d: %s", x.Code, class.remedy())})
		}
	}
	return out
}

// remedy returns the remedy, for people.
func (c Class) remedy() string {
	switch c {
	case ClassReset:
		return "it needs a reset"
	case ClassQuarantine:
		return "look at it, then restart the host"
	case ClassRestart:
		return "restart the host"
	case ClassNone, ClassIgnore, ClassApplication:
	}
	return ""
}

// strike records a fault, unless a graver one is known.
func (r *Record) strike(f Fault) {
	r.quiet = time.Time{}
	if f.Class >= r.fault.Class {
		f.Relapses = r.fault.Relapses
		r.fault = f
	}
}

// recover lifts a fault once the GPU was reset and has been quiet for long enough.
func (r *Record) recover(now time.Time, in Reading, retest time.Duration) {
	if r.fault.Class != ClassReset {
		return
	}
	reset := in.Recovery == RecoveryNone || in.Recovery == RecoveryUnknown && r.fault.Restarted
	if in.Trouble != TroubleNone || !in.Idle || !reset {
		r.quiet = time.Time{}
		return
	}
	if r.quiet.IsZero() {
		r.quiet = now
	}
	for range min(r.fault.Relapses, 16) {
		retest = min(2*retest, longest)
	}
	if now.Sub(r.quiet) >= retest {
		r.fault = Fault{Relapses: r.fault.Relapses + min(1, 255-r.fault.Relapses)}
	}
}
