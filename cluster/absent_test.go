package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// A peer that was away while others came follows one of them.
func TestAPeerThatWasAwayHearsNewMembers(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		away := w.other(l)
		w.crash(away)
		fourth := w.add("p4")
		w.start(fourth)
		if err := fourth.Join(within(10*time.Second), []string{l.name + ":7000"}); err != nil {
			t.Fatal(err)
		}
		if err := l.Promote(within(5*time.Second), "p4"); err != nil {
			t.Fatal(err)
		}
		if err := l.Transfer(within(5*time.Second), "p4"); err != nil {
			t.Fatal(err)
		}
		w.until("the new peer leads", func() bool { return fourth.leads() })
		w.mustPropose(fourth, 5)
		w.start(away)
		w.until("the peer that was away follows", func() bool {
			s := away.State()
			return s.Jobs.Len() == 5 && away.Status().Leader.ID == "p4"
		})
	})
}

// replaceAll replaces all peers but one that is away, and returns the two that have come.
func (w *world) replaceAll(away *member) (fourth, fifth *member) {
	w.t.Helper()
	for _, name := range []string{"p4", "p5"} {
		m, l := w.add(name), w.leader()
		w.start(m)
		if err := m.Join(within(10*time.Second), []string{l.name + ":7000"}); err != nil {
			w.t.Fatal(err)
		}
		if err := l.Promote(within(5*time.Second), model.PeerID(name)); err != nil {
			w.t.Fatal(err)
		}
		if err := l.Transfer(within(5*time.Second), model.PeerID(name)); err != nil {
			w.t.Fatal(err)
		}
		w.until("the new peer leads", m.leads)
		var gone *member
		for _, v := range w.peers {
			if v != away && v.name < "p4" {
				gone = v
			}
		}
		if err := m.Remove(within(5*time.Second), model.PeerID(gone.name)); err != nil {
			w.t.Fatal(err)
		}
		w.crash(gone)
		w.peers = without(w.peers, gone)
	}
	for _, m := range w.peers {
		if m.name == "p4" {
			fourth = m
		}
	}
	return fourth, w.leader()
}

// A peer that was away while all others were replaced finds the present ones where the operator has named one of them, or at the address of
// one that it knew, and takes part.
func TestAPeerThatWasAwayWhileAllOthersWereReplaced(t *testing.T) {
	for name, listed := range map[string][]peer.Server{
		"with the address of a present peer":   {{Address: "gone:7000"}, {Address: "p4:7000"}},
		"where another had been by the list":   {{ID: "p1", Address: "p5:7000"}},
		"with nothing but the addresses known": nil,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, nil, func(w *world) {
				l := w.leader()
				away := w.other(l)
				w.crash(away)
				w.peers = without(w.peers, away)
				_, fifth := w.replaceAll(away)
				w.mustPropose(fifth, 5)
				away.listed = listed
				w.start(away)
				w.peers = append(w.peers, away)
				follows := func() bool {
					s := away.State()
					return s.Jobs.Len() == 5 && away.Status().Leader.ID == "p5"
				}
				if listed != nil {
					w.until("the peer that was away follows", follows)
					w.until("it takes part", func() bool { return slices.Contains(fifth.Status().Up, model.PeerID(away.name)) })
					return
				}
				w.until("the peer says what helps", func() bool { return away.logged("peers_not_known") && away.logged("server.join of this peer") })
				if up := fifth.Status().Up; follows() || slices.Contains(up, model.PeerID(away.name)) {
					t.Errorf("it takes part, and up are %v", up)
				}
				away.listed = []peer.Server{{Address: "p4:7000"}}
				w.crash(away)
				w.start(away)
				w.until("the peer follows", follows)
			})
		})
	}
}

// A peer that was away votes for a member that it does not have in its configuration yet: without that vote no leader could come.
func TestAPeerThatWasAwayVotesForNewMembers(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		away := w.other(l)
		w.crash(away)
		w.peers = without(w.peers, away)
		fourth, fifth := w.replaceAll(away)
		w.mustPropose(fifth, 5)
		w.until("both have all", func() bool { s := fourth.State(); return s.Jobs.Len() == 5 })
		w.crash(fifth)
		w.peers = append(without(w.peers, fifth), away)
		away.listed = []peer.Server{{Address: "p4:7000"}}
		w.start(away)
		if got := w.leader(); got != fourth {
			t.Errorf("%s leads, and p4 alone has all entries", got.name)
		}
		w.mustPropose(fourth, 1)
		w.until("the peer that was away follows", func() bool { s := away.State(); return s.Jobs.Len() == 6 })
	})
}

// A member that has just got its vote may be elected by one that does not know that yet.
func TestAVoteThatAFollowerDoesNotKnow(t *testing.T) {
	inWorld(t, 2, nil, func(w *world) {
		l := w.leader()
		behind := w.other(l)
		third := w.add("p3")
		w.start(third)
		if err := third.Join(within(10*time.Second), []string{l.name + ":7000"}); err != nil {
			t.Fatal(err)
		}
		w.until("all know the third", func() bool { return len(behind.Status().Servers) == 3 && third.Status().Lag.CaughtUp() })
		w.crash(behind)
		if err := l.Promote(within(5*time.Second), "p3"); err != nil {
			t.Fatal(err)
		}
		w.mustPropose(l, 3)
		w.until("the third has all", func() bool { s := third.State(); return s.Jobs.Len() == 3 })
		w.crash(l)
		w.peers = without(w.peers, l)
		w.start(behind)
		if got := w.leader(); got != third {
			t.Errorf("%s leads", got.name)
		}
		w.mustPropose(third, 1)
	})
}
