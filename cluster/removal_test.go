package cluster

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// A removed peer ends by itself and says why; the others, and one that is only cut off, go on.
func TestARemovedPeerEnds(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		gone, stays := w.other(l), w.peers[0]
		for _, m := range w.peers {
			if m != l && m != gone {
				stays = m
			}
		}
		if err := l.Remove(within(time.Second), model.PeerID(gone.name)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-gone.life.doomed:
		case <-time.After(time.Minute):
			t.Fatalf("the removed peer goes on: %+v", gone.Status())
		}
		if gone.life.doom.Error() != peer.ErrRemoved.Error() {
			t.Errorf("it ended because %v", gone.life.doom)
		}
		w.mustPropose(l, 1)
		select {
		case <-stays.life.doomed:
			t.Errorf("another peer has ended, too: %v", stays.life.doom)
		default:
		}
	})
}
