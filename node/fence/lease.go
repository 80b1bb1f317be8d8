package fence

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// maxFlight bounds how many renewals wait for an answer: two minutes of renewals. The answer to an older one
// is ignored, which is safe.
const maxFlight = 64

// Registration identifies the agent to the cluster: the answer to its newest registration.
type Registration struct {
	Incarnation model.Incarnation
	Node        model.NodeID
	Epoch       uint64
}

// Renewal names one sending of a renewal. No two sendings share a name, so an answer identifies the sending
// of its request exactly.
type Renewal struct {
	Registration
	Seq uint64
}

// Lease is the agent's side of its node's lease. The lease starts at the sending of the newest renewal that
// the log has accepted. It must not start at the answer: the leader's wait began when the renewal was
// applied, and an answer can come long after that.
//
// Only an accepted renewal moves the start. A registration, a desired set and a refusal leave the start where
// it was, so extra registrations neither gain nor lose lease time. The zero Lease belongs to an agent that
// has never registered.
type Lease struct {
	reg        Registration
	registered bool   // reg is not known to be outdated
	heard      uint64 // the newest epoch of the node in any answer
	seq        uint64
	flight     []sending // in order of seq
	start      Boot
}

type sending struct {
	seq  uint64
	sent Boot
}

// Mark is the part of a lease that an agent keeps over a restart. A mark that is behind is safe: it only
// makes the lease older. So it need not be saved at each renewal.
type Mark struct {
	BootID       string // the kernel's, that Start is a reading of
	Registration Registration
	Seq          uint64
	Start        Boot
}

// Mark returns the current lease, to be saved with the host's boot id.
func (l *Lease) Mark(bootID string) Mark {
	return Mark{BootID: bootID, Registration: l.reg, Seq: l.seq, Start: l.start}
}

// Restore returns the lease of a restarted agent with its former mark. A mark from another boot id is
// ignored: its start is a reading of another clock, and the ranks of that boot have ended. The agent must
// register in either case, so that it never sends a name that the process before it has used.
func Restore(m Mark, bootID string) Lease {
	if m.BootID != bootID {
		return Lease{heard: m.Registration.Epoch}
	}
	return Lease{reg: m.Registration, heard: m.Registration.Epoch, seq: m.Seq, start: m.Start}
}

// Start returns the reading from which the node's attempts may run for their T; 0 while no renewal has been
// accepted.
func (l *Lease) Start() Boot { return l.start }

// Registration returns the registration to renew under, or false when the agent must register (again) before
// anything else.
func (l *Lease) Registration() (Registration, bool) { return l.reg, l.registered }

// Registered applies the answer to a registration and reports whether the answer counts. An epoch that is not
// newer than the newest seen of its incarnation is a late answer and changes nothing. Renewals of earlier
// registrations that are still in flight are forgotten.
func (l *Lease) Registered(r Registration) bool {
	if r.Incarnation == l.reg.Incarnation && r.Epoch <= l.reg.Epoch {
		return false
	}
	l.reg, l.registered, l.flight = r, true, nil
	l.heard = r.Epoch
	return true
}

// Follows returns the epoch that the next registration names as its predecessor: the newest known one,
// otherwise 1, which is a guess. A registration counts in that epoch only, so a wrong guess costs an answer
// and a late copy of any registration does no harm.
func (l *Lease) Follows() uint64 { return max(l.heard, 1) }

// OutOfTurn handles the refusal of a registration that named another epoch than the node's, and reports
// whether to register again at once.
func (l *Lease) OutOfTurn(followed, epoch uint64) bool {
	l.heard = epoch
	return epoch != 0 && epoch != followed
}

// Send names a renewal that is about to be sent and remembers now as its sending; false: register first. A
// renewal is sent once; a repetition is another Send. Numbers start at 1 and grow across registrations too:
// otherwise a return to an earlier incarnation would give two sendings one name.
func (l *Lease) Send(now Boot) (Renewal, bool) {
	if !l.registered {
		return Renewal{}, false
	}
	l.seq++
	if len(l.flight) == maxFlight {
		l.flight = slices.Delete(l.flight, 0, 1)
	}
	l.flight = append(l.flight, sending{l.seq, now})
	return Renewal{l.reg, l.seq}, true
}

// Accepted applies the answer that the log has accepted r, and reports whether the lease's start moved.
// Answers may come late, twice or in any order; one of another registration, or to a sending that is no
// longer remembered, changes nothing.
func (l *Lease) Accepted(r Renewal) bool {
	if !l.current(r) {
		return false
	}
	i, ok := slices.BinarySearchFunc(l.flight, r.Seq, func(s sending, seq uint64) int {
		return cmp.Compare(s.seq, seq)
	})
	if !ok {
		return false
	}
	before := l.start
	l.start = max(l.start, l.flight[i].sent)
	l.flight = slices.Delete(l.flight, 0, i+1) // those before it were sent earlier
	return l.start > before
}

// Refused applies the answer that r was refused, for the reason why. With stale_seq, newest is the number of
// the newest renewal in the log, and the next sending goes beyond it. After stale_epoch or stale_incarnation
// the agent must register again. No refusal moves the start: running ranks go on for as long as they may. Any
// other reason, like a missing answer, changes nothing.
func (l *Lease) Refused(r Renewal, why model.Code, newest uint64) {
	if !l.current(r) {
		return
	}
	if why == model.CodeStaleSeq {
		l.seq = max(l.seq, newest)
	}
	if why == model.CodeStaleEpoch || why == model.CodeStaleIncarnation {
		l.registered, l.flight = false, nil
	}
}

// current reports whether r was sent under the registration that is in force.
func (l *Lease) current(r Renewal) bool { return l.registered && r.Registration == l.reg }
