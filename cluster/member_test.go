package cluster

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/votes"
	"github.com/berth-gpu/berth/fsm/model"
)

// A new peer joins through any peer, and every peer learns all addresses.
func TestAPeerJoins(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		w.mustPropose(l, 50)
		fourth := w.add("p4")
		w.start(fourth)
		if err := fourth.Join(within(10*time.Second), []string{w.other(l).name + ":7000"}); err != nil {
			t.Fatal(err)
		}
		w.until("all know the fourth and its API address", func() bool {
			for _, m := range w.peers {
				s := m.State()
				p, known := s.Peers.Get("p4")
				if !known || p.APIAddress != "p4:10000" || s.Jobs.Len() != 50 {
					return false
				}
			}
			return voters(l) == 3 // a fourth vote would make the cluster no safer
		})
		if got := fourth.Status(); got.Leader.ID != model.PeerID(l.name) || len(got.Servers) != 4 {
			t.Errorf("the fourth knows %+v", got)
		}
	})
}

// A peer of another cluster is refused with that reason.
func TestAPeerOfAnotherClusterIsRefused(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		stranger := w.add("p9")
		stranger.cluster = "c2"
		w.start(stranger)
		err := stranger.Join(within(5*time.Second), []string{"p1:7000", "p2:7000", "p3:7000"})
		if err == nil || len(w.leader().Status().Servers) != 3 {
			t.Fatalf("join gave %v, members are now %v", err, w.leader().Status().Servers)
		}
		w.peers = w.peers[:3]
		stranger.Kill()
	})
}

// A removed peer no longer counts, and its addresses are forgotten.
func TestAPeerIsRemoved(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		gone := w.other(l)
		w.until("its row is there", func() bool { s := l.State(); return s.Peers.Has(model.PeerID(gone.name)) })
		if err := l.Remove(within(time.Second), model.PeerID(gone.name)); err != nil {
			t.Fatal(err)
		}
		w.until("its row is gone", func() bool { s := l.State(); return !s.Peers.Has(model.PeerID(gone.name)) })
		if voters(l) != 2 {
			t.Errorf("%d voters are left, want 2", voters(l))
		}
	})
}

// Leadership goes where it is sent, and a peer that shuts down hands it over
// first: the next write succeeds in far less than an election takes.
func TestLeadershipIsHandedOver(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		to := w.other(l)
		if err := l.Transfer(within(2*time.Second), model.PeerID(to.name)); err != nil {
			t.Fatal(err)
		}
		w.until("the other leads", func() bool { return to.leads() })
		w.mustPropose(to, 1)

		before := time.Now()
		if err := to.Shutdown(within(2 * time.Second)); err != nil {
			t.Fatal(err)
		}
		w.peers = without(w.peers, to)
		w.mustPropose(w.leader(), 1)
		if took := time.Since(before); took > LAN.Heartbeat {
			t.Errorf("a graceful shutdown cost writers %s, want less than an election's %s", took, LAN.Heartbeat)
		}
	})
}

// After a crash of the leader another acknowledges writes, nothing acknowledged
// is lost, and the crashed peer comes back.
func TestACrashOfTheLeaderLosesNothing(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		w.mustPropose(l, 20)
		w.crash(l)
		w.peers = without(w.peers, l)
		next := w.leader()
		w.mustPropose(next, 5)
		w.peers = append(w.peers, l)
		w.start(l)
		w.until("the crashed peer has everything", func() bool { s := l.State(); return s.Jobs.Len() == 25 })
		ours, theirs := l.State(), next.State()
		w.until("both are at one index", func() bool {
			ours, theirs = l.State(), next.State()
			return ours.Index == theirs.Index
		})
		if ours.Digest() != theirs.Digest() {
			t.Error("the digests differ")
		}
	})
}

func voters(m *member) int {
	n := 0
	f := m.raft.GetConfiguration()
	if f.Error() != nil {
		return 0
	}
	for _, s := range f.Configuration().Servers {
		if s.Suffrage == 0 {
			n++
		}
	}
	return n
}

func without(list []*member, m *member) (out []*member) {
	for _, v := range list {
		if v != m {
			out = append(out, v)
		}
	}
	return out
}

// Members get votes in odd numbers, each after some time without a break; a promotion by hand needs none of that.
func TestVotesOfJoiners(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		join := func(name string) {
			t.Helper()
			m := w.add(name)
			w.start(m)
			if err := m.Join(within(10*time.Second), []string{"p1:7000", "p2:7000", "p3:7000"}); err != nil {
				t.Fatal(err)
			}
			w.until(name+" has caught up", func() bool { return m.Status().Lag.CaughtUp() })
		}
		join("p4")
		time.Sleep(3 * votes.Stable)
		if n := voters(l); n != 3 {
			t.Errorf("with four members %d vote, want 3", n)
		}
		join("p5")
		time.Sleep(votes.Stable / 2)
		if n := voters(l); n != 3 {
			t.Errorf("right after the fifth has joined, %d vote", n)
		}
		w.until("five vote", func() bool { return voters(l) == 5 })
		join("p6")
		if err := l.Promote(within(time.Second), "p6"); err != nil || voters(l) != 6 {
			t.Errorf("by hand: %v, %d vote", err, voters(l))
		}
		if err := l.Promote(within(time.Second), "p9"); !errors.Is(err, errNoMember) || errors.Is(err, peer.ErrOutcomeUnknown) {
			t.Errorf("a vote for a stranger: %v", err)
		}
		l.life.members <- struct{}{} // as during a removal
		voted := make(chan error, 1)
		go func() { voted <- l.Promote(within(time.Minute), "p6") }()
		synctest.Wait()
		if err := l.raft.RemoveServer("p6", 0, time.Second).Error(); err != nil {
			t.Fatal(err)
		}
		<-l.life.members
		if err := <-voted; !errors.Is(err, errNoMember) || voters(l) != 5 {
			t.Errorf("a vote for a peer that was removed meanwhile: %v, %d vote", err, voters(l))
		}
	})
}

// A peer that is alone at another address than before gives the cluster that address, so that those that join reach the peer.
func TestALeaderAtAnotherAddress(t *testing.T) {
	inWorld(t, 1, nil, func(w *world) {
		l := w.leader()
		w.crash(l)
		l.port = ":7001"
		w.start(l)
		w.until("the peer leads", func() bool { return w.leader() == l })
		address := func() string { return l.Status().Servers[0].Address }
		if at := address(); at != "p1:7000" {
			t.Fatalf("before: %s", at)
		}
		for range 2 {
			if err := l.Readdress(within(time.Second)); err != nil || address() != "p1:7001" || voters(l) != 1 {
				t.Errorf("%v; the cluster has the address %s, and %d vote", err, address(), voters(l))
			}
		}
		p2 := w.add("p2")
		w.start(p2)
		if err := p2.Join(within(10*time.Second), []string{"p1:7001"}); err != nil {
			t.Fatal(err)
		}
		w.until("the joiner has caught up", func() bool { return p2.Status().Lag.CaughtUp() })
		if err := p2.Readdress(within(time.Second)); err == nil {
			t.Error("a follower has given the cluster an address")
		}
	})
}
