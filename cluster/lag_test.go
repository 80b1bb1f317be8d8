//berth:bubble

package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
)

// A peer that was restarted does not know what its former process answered: it answers
// default reads only once it is as new as the cluster, and is not caught up until then.
func TestARestartedPeerIsBehindUntilItHasCaughtUp(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		f := w.other(l)
		w.crash(f)
		w.mustPropose(l, 3)
		w.net.Isolate(f.name)
		w.start(f)
		if got := f.Status().Lag; got.CaughtUp() || got.Why() == "" {
			t.Errorf("a cut-off peer that was restarted has lag %+v", got)
		}
		_, err := f.Read(within(time.Second), peer.Default, 0)
		if !errors.Is(err, peer.ErrBehind) || errors.Is(err, peer.ErrClosed) {
			t.Errorf("a default read gave %v, want %v", err, peer.ErrBehind)
		}
		if _, err := f.Read(within(time.Second), peer.Stale, 0); err != nil {
			t.Errorf("a stale read gave %v", err)
		}
		w.net.HealAll()
		if s, err := f.Read(within(time.Minute), peer.Default, 0); err != nil || s.Jobs.Len() != 3 {
			t.Errorf("a default read gave %d jobs, %v; want 3", s.Jobs.Len(), err)
		}
		w.until("the restarted peer has caught up", func() bool { return f.Lag().CaughtUp() })
	})
}

// A joining peer has not caught up while it lacks many entries, and has when it lacks a few.
func TestAJoiningPeerCatchesUp(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		for range peer.CloseEnough + 100 {
			w.mustPropose(l, 1)
		}
		fourth := w.add("p4")
		w.start(fourth)
		joined := make(chan error, 1)
		go func() { joined <- fourth.Join(within(10*time.Second), []string{l.name + ":7000"}) }()
		w.until("the joining peer has caught up", func() bool {
			ls, ours := l.State(), fourth.State()
			caught := fourth.Lag().CaughtUp()
			if caught && ours.Index+peer.CloseEnough < ls.Index {
				t.Errorf("it counts as caught up at %d of %d", ours.Index, ls.Index)
			}
			return caught
		})
		if err := <-joined; err != nil {
			t.Error(err)
		}
	})
}

// settled waits until all peers have caught up, for which each takes a log entry once.
func (w *world) settled() {
	w.t.Helper()
	w.until("all peers have caught up", func() bool {
		return !slices.ContainsFunc(w.peers, func(m *member) bool { return !m.Lag().CaughtUp() })
	})
}

func TestLagSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lag    peer.Lag
		caught bool
		says   string
	}{
		{peer.Lag{}, false, "not yet reached"},
		{peer.Lag{Entries: 3}, false, "lacks 3 entries"},
		{peer.Lag{Known: true}, true, ""},
		{peer.Lag{Known: true, Entries: peer.CloseEnough}, true, ""},
		{peer.Lag{Known: true, Entries: peer.CloseEnough + 1}, false, "lacks 501 entries"},
	} {
		if got := c.lag.Why(); c.lag.CaughtUp() != c.caught || !strings.Contains(got, c.says) || (got == "") != c.caught {
			t.Errorf("%+v: caught up %v, %q", c.lag, c.lag.CaughtUp(), got)
		}
	}
}
