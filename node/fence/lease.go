package fence

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// maxFlight bounds how many sendings wait for an answer: two minutes of
// renewals. The answer to an older one comes to nothing, which is safe.
const maxFlight = 64

// Registration is as what the cluster knows the agent: the answer to its newest
// registration.
type Registration struct {
	Incarnation model.Incarnation
	Node        model.NodeID
	Epoch       uint64
}

// Renewal names one sending of a renewal. No two sendings share a name, so an
// answer says exactly when its request was sent.
type Renewal struct {
	Registration
	Seq uint64
}

// Lease is the agent's side of its node's lease. It starts at the sending of the
// newest renewal that the log has accepted. It must not start at the answer:
// the leader's wait began when the renewal was applied, and an answer can come
// long after that.
//
// Only an accepted renewal moves the start. A registration, a desired set and a
// refusal leave it where it was, so an agent may register as often as it likes
// and gains and loses nothing by it. The zero Lease belongs to an agent that has
// never registered.
type Lease struct {
	reg        Registration
	registered bool   // reg is not known to be outdated
	heard      uint64 // the newest epoch of the node that an answer told of
	seq        uint64
	flight     []sending // in order of seq
	start      Boot
}

type sending struct {
	seq  uint64
	sent Boot
}

// Mark is what an agent keeps of its lease over a restart. A mark that is behind
// is safe: it only makes the lease older. So it need not be saved at each
// renewal.
type Mark struct {
	BootID       string // the kernel's, that Start is a reading of
	Registration Registration
	Seq          uint64
	Start        Boot
}

// Mark is the lease as it stands, to be saved with the host's boot id.
func (l *Lease) Mark(bootID string) Mark {
	return Mark{BootID: bootID, Registration: l.reg, Seq: l.seq, Start: l.start}
}

// Restore is the lease of an agent that starts anew with its former mark. Under
// another boot id nothing is taken from it: its start is a reading of another
// clock, and what ran then runs no more. The agent must register in either case,
// so that it never sends a name that the process before it has used.
func Restore(m Mark, bootID string) Lease {
	if m.BootID != bootID {
		return Lease{heard: m.Registration.Epoch}
	}
	return Lease{reg: m.Registration, heard: m.Registration.Epoch, seq: m.Seq, start: m.Start}
}

// Start is the reading from which the node's attempts may run for their T; 0
// while no renewal has been accepted.
func (l *Lease) Start() Boot { return l.start }

// Registration is the one to renew under, or false when the agent must register
// (again) before anything else.
func (l *Lease) Registration() (Registration, bool) { return l.reg, l.registered }

// Registered takes the answer to a registration and reports whether it counts.
// An epoch that is not newer than the newest seen of its incarnation is a late
// answer and changes nothing. Renewals of earlier registrations that are still
// in flight are forgotten.
func (l *Lease) Registered(r Registration) bool {
	if r.Incarnation == l.reg.Incarnation && r.Epoch <= l.reg.Epoch {
		return false
	}
	l.reg, l.registered, l.flight = r, true, nil
	l.heard = r.Epoch
	return true
}

// Follows is the epoch that the next registration names as the one before it: the
// newest that is known, else 1, which is a guess. A registration counts in that epoch
// only, so a wrong guess costs an answer and a late copy of any registration does no
// harm.
func (l *Lease) Follows() uint64 { return max(l.heard, 1) }

// OutOfTurn takes the answer that a registration which followed an epoch was refused
// as the node is in another one, and reports whether to ask again at once.
func (l *Lease) OutOfTurn(followed, epoch uint64) bool {
	l.heard = epoch
	return epoch != 0 && epoch != followed
}

// Send names a renewal that is about to be sent and remembers now as its
// sending; false: register first. A renewal is sent once. Who would repeat it
// calls Send again. Numbers start at 1 and grow across registrations too: were
// they to start again, a return to an earlier incarnation would give two
// sendings one name.
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

// Accepted takes the answer that the log has accepted r, and reports whether
// the lease's start moved. Answers may come late, twice or in any order; one of
// another registration, or to a sending that is no longer remembered, changes
// nothing.
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

// Refused takes the answer that r was not accepted, for the reason why. With
// stale_seq, newest is the number of the newest renewal that the log has, and
// the next sending goes beyond it. After stale_epoch or stale_incarnation the
// agent must register again. No refusal moves the start: what runs goes on for
// as long as it may. Any other reason, like no answer at all, changes nothing.
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

// current says that r was sent under the registration that is in force.
func (l *Lease) current(r Renewal) bool { return l.registered && r.Registration == l.reg }
