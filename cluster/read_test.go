package cluster

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
)

// A leader that is cut off answers no linearizable read, even if it still believes to lead; it still serves
// stale reads.
func TestACutOffLeaderAnswersNoLinearizableRead(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		w.mustPropose(l, 1)
		w.net.Isolate(l.name)
		if _, err := l.Read(within(5*time.Second), peer.Linearizable, 0); err == nil {
			t.Error("a cut-off leader answered a linearizable read")
		}
		if s, err := l.Read(within(time.Second), peer.Stale, 0); err != nil || s.Jobs.Len() != 1 {
			t.Errorf("a stale read gave %d jobs, %v", s.Jobs.Len(), err)
		}
		rest := without(w.peers, l)
		if took := w.timeToWrite(rest, time.Minute); took >= time.Minute {
			t.Error("the others never wrote")
		}
	})
}

// A peer never answers with less than it has answered or forwarded before.
func TestAPeerReadsItsOwnWrites(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		f := w.other(l)
		_, index, err := l.Propose(within(time.Second), submit("x"))
		if err != nil {
			t.Fatal(err)
		}
		f.Saw(index) // as after forwarding it
		if s, err := f.Read(within(time.Second), peer.Default, 0); err != nil || s.Index < index || s.Jobs.Len() != 1 {
			t.Errorf("a default read gave state %d: %v; want at least %d", s.Index, err, index)
		}
		if _, err := f.Read(within(100*time.Millisecond), peer.Default, index+1000); !errors.Is(err, peer.ErrBehind) {
			t.Errorf("a read of the future gave %v", err)
		}
	})
}

// Reads that come together share a barrier.
func TestReadsShareABarrier(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		before := l.Status().Last
		var reads sync.WaitGroup
		for range 200 {
			reads.Go(func() {
				if _, err := l.Read(within(time.Second), peer.Linearizable, 0); err != nil {
					t.Error(err)
				}
			})
		}
		reads.Wait()
		if used := l.Status().Last - before; used > 20 {
			t.Errorf("200 reads took %d log entries", used)
		}
	})
}

// A follower that cannot reach the leader fails rather than answer with an old state.
func TestACutOffFollowerAnswersNoLinearizableRead(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		f := w.other(w.leader())
		w.net.Isolate(f.name)
		if _, err := f.Read(within(3*time.Second), peer.Linearizable, 0); !errors.Is(err, peer.ErrNoLeader) {
			t.Errorf("a cut-off follower answered %v", err)
		}
	})
}

// A read that must be new waits for the next leader, as a write does.
func TestALinearizableReadWaitsForALeader(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		w.mustPropose(l, 1)
		f := w.other(l)
		w.crash(l)
		if s, err := f.Read(within(time.Minute), peer.Linearizable, 0); err != nil || s.Jobs.Len() != 1 {
			t.Errorf("read %d jobs: %v", s.Jobs.Len(), err)
		}
	})
}
