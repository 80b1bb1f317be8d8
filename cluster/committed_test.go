package cluster

import (
	"strings"
	"testing"
)

// A peer whose disk was put back to an earlier state has forgotten what it had acknowledged. A peer that still has those entries keeps
// them, and says so, in place of following a leader without them.
func TestAcknowledgedEntriesAreNotCutOff(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		var others []*member
		for _, m := range w.peers {
			if m != l {
				others = append(others, m)
			}
		}
		back, away := others[0], others[1]
		w.mustPropose(l, 5)
		w.until("all have the first jobs", func() bool {
			s, o := back.State(), away.State()
			return s.Jobs.Len() == 5 && o.Jobs.Len() == 5
		})
		w.crash(away)
		early := back.disk.Clone()
		w.mustPropose(l, 5) // acknowledged by the leader and the peer whose disk is put back
		w.until("two have all jobs", func() bool {
			s, o := back.State(), l.State()
			return s.Jobs.Len() == 10 && o.Jobs.Len() == 10
		})
		w.net.Isolate(l.name)
		w.crash(back)
		back.disk = early
		w.start(back)
		w.start(away)
		w.until("the two elect without the entries", func() bool { return back.leads() || away.leads() })
		next := back
		if away.leads() {
			next = away
		}
		w.mustPropose(next, 3)
		w.net.HealAll()
		var got error
		w.until("the former leader halts", func() bool {
			select {
			case got = <-l.halted:
				return true
			default:
				return false
			}
		})
		if !strings.Contains(got.Error(), "put back to an earlier state") || !strings.Contains(got.Error(), "berth cluster recover") {
			t.Errorf("%v", got)
		}
		if s := l.State(); s.Jobs.Len() != 10 {
			t.Errorf("the peer has %d jobs left, want 10", s.Jobs.Len())
		}
	})
}
