package fence_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

// contact is one renewal by a perfect clock: when it was sent, applied and answered.
type contact struct{ sent, applied, answered time.Duration }

// life is one attempt on a node, from its start at the first contact.
type life struct {
	frozen      model.Frozen
	agent, lead int // rate errors of the two clocks, parts per million
	contacts    []contact
}

func byClock(t time.Duration, ppm int) time.Duration { return t + t/1_000_000*time.Duration(ppm) }

// lostAt returns when the leader first declares the rank lost: each renewal that the log accepts restarts its
// wait.
func (l *life) lostAt() (accepted []contact, lost time.Duration) {
	wait := l.frozen.LostAfter()
	wait -= wait / 1_000_000 * time.Duration(l.lead) // of a clock that runs fast there is less
	newest := contact{applied: -1}
	for _, c := range slices.SortedFunc(slices.Values(l.contacts), func(a, b contact) int {
		return cmp.Compare(a.applied, b.applied)
	}) {
		if newest.applied >= 0 && lost == 0 && c.applied > newest.applied+wait {
			lost = newest.applied + wait
		}
		if c.sent > newest.sent || newest.applied < 0 { // its number is higher
			newest = c
			accepted = append(accepted, c)
		}
	}
	if lost == 0 {
		lost = newest.applied + wait
	}
	return accepted, lost
}

// goneBy returns when the node's own rules have all processes gone, given the answers
// to what was accepted. count says from when an agent counts.
func (l *life) goneBy(accepted []contact, count func(lease fence.Boot, now fence.Boot) fence.Boot) time.Duration {
	lease := new(fence.Lease)
	lease.Registered(registration(1))
	names := map[contact]fence.Renewal{}
	for _, c := range l.contacts {
		names[c], _ = lease.Send(fence.Boot(byClock(c.sent, l.agent)))
	}
	guard := fence.NewGuard(fence.Boot(byClock(l.contacts[0].sent, l.agent)), l.frozen)
	slices.SortFunc(accepted, func(a, b contact) int { return cmp.Compare(a.answered, b.answered) })
	for _, c := range accepted {
		lease.Accepted(names[c])
		now := fence.Boot(byClock(c.answered, l.agent))
		guard.Extend(now, count(lease.Start(), now))
	}
	f, _ := guard.Deadline()
	return byClock(f.Expiry.Sub(0), -l.agent) + time.Millisecond // the inverse of byClock, rounded
}

func fromSending(lease, _ fence.Boot) fence.Boot { return lease }
func fromAnswer(_, now fence.Boot) fence.Boot    { return now }

// A rank's processes are gone when its leader calls it lost, however renewals
// and answers were delayed and lost, and as long as clocks keep their rate.
func TestGoneBeforeLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most*1000).Draw(t, name)) * time.Millisecond
		}
		spec := model.Spec{OnLost: model.OnLostRequeue, DisconnectGrace: 30*time.Second + seconds("T", 300)}
		ppm := rapid.IntRange(-model.DriftPPM, model.DriftPPM)
		l := life{frozen: spec.Freeze(), agent: ppm.Draw(t, "agent"), lead: ppm.Draw(t, "leader")}
		sent := time.Second
		l.contacts = []contact{{sent, sent, sent}}
		for range rapid.IntRange(0, 20).Draw(t, "contacts") {
			sent += time.Second + seconds("pause", rapid.SampledFrom([]int{2, 100}).Draw(t, "pauses"))
			slow := rapid.SampledFrom([]int{1, 60, 400}).Draw(t, "slow")
			applied := sent + seconds("there", slow)
			l.contacts = append(l.contacts, contact{sent, applied, applied + seconds("back", slow)})
		}
		accepted, lost := l.lostAt()
		if gone := l.goneBy(accepted, fromSending); gone > lost {
			t.Fatalf("lost at %v, gone by %v", lost, gone)
		}
	})
}

// An agent that counted from the answer would run on after its rank was lost.
func TestCountingFromTheAnswerOverlaps(t *testing.T) {
	l := life{frozen: frozen(model.OnLostRequeue), contacts: []contact{
		{time.Second, time.Second, time.Second},
		{10 * time.Second, 10 * time.Second, 250 * time.Second},
	}}
	accepted, lost := l.lostAt()
	if gone := l.goneBy(accepted, fromAnswer); gone <= lost {
		t.Errorf("lost at %v, gone by %v: the test does not tell the two apart", lost, gone)
	}
	if gone := l.goneBy(accepted, fromSending); gone > lost {
		t.Errorf("lost at %v, gone by %v", lost, gone)
	}
}
