//go:build !race

package cluster

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// Raft reads the record of a follower without a lock while the follower's address changes (hashicorp/raft#681). The race detector sees that
// now and then, so that make test runs this test by itself, without the race detector.

// Peers that have all moved meet where the operator's list has them, and register their addresses. Without a list they look for each other
// where they were.
func TestAllPeersAtOtherAddresses(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		move := func(listed bool) {
			var list []peer.Server
			for _, m := range w.peers {
				w.crash(m)
				m.port = ":7001"
				list = append(list, peer.Server{ID: model.PeerID(m.name), Address: m.name + m.port})
			}
			for _, m := range w.peers {
				if m.listed = nil; listed {
					m.listed = list
				}
				w.start(m)
			}
		}
		move(false)
		time.Sleep(time.Minute)
		for _, m := range w.peers {
			if at := m.Status().Leader.ID; at != "" {
				t.Errorf("without a list peer %s follows %s", m.name, at)
			}
		}
		move(true)
		l := w.leader()
		if err := l.Readdress(within(time.Second)); err != nil {
			t.Fatal(err)
		}
		for _, m := range w.peers {
			if m != l {
				w.until("a leader is known", func() bool { return m.Status().Leader.Address != "" })
				if err := m.Join(within(10*time.Second), []string{m.Status().Leader.Address}); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.until("all addresses are registered", func() bool {
			for _, s := range l.Status().Servers {
				if s.Address != string(s.ID)+":7001" {
					return false
				}
			}
			return voters(l) == 3
		})
	})
}
