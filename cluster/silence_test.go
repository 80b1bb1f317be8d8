package cluster

import (
	"testing"
	"time"
)

// Peers are silent without a leader: not the leader, and not those that it reaches, also while their disks
// hang; and a former leader counts from the end of its leadership.
func TestSilence(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		time.Sleep(20 * time.Second)
		for _, m := range w.peers {
			s := m.Status().Silence
			if len(s.Voters) != 3 || s.Voters[0] != "p1" || s.For > time.Second {
				t.Errorf("under a leader %s says %+v", m.name, s)
			}
		}
		if s := l.Status().Silence; s.For != 0 {
			t.Errorf("the leader says %s", s.For)
		}
		f := w.other(l)
		f.disk.Stall(5 * time.Second)
		w.mustPropose(l, 1)
		time.Sleep(4 * time.Second)
		if s := f.Status().Silence; s.For > time.Second {
			t.Errorf("a follower whose disk hangs says %s while it is reached", s.For)
		}
		time.Sleep(10 * time.Second)
		l = w.leader()
		for _, m := range w.peers {
			w.net.Isolate(m.name)
		}
		time.Sleep(time.Minute)
		for _, m := range w.peers {
			if s := m.Status().Silence; s.For < 50*time.Second || s.For > 61*time.Second {
				t.Errorf("after a minute alone %s (led: %v) says %s", m.name, m == l, s.For)
			}
		}
	})
}

// A peer whose disk hangs answers for its status and its state at once: the service manager would kill it otherwise, which
// helps no disk.
func TestAStalledDiskLeavesTheStatus(t *testing.T) {
	change := func(m *member) { m.tests.NoWatchdog = true } // the leader would end by itself
	inWorld(t, 3, change, func(w *world) {
		l := w.leader()
		for _, m := range w.peers {
			m.disk.Stall(24 * time.Hour)
		}
		go func() { _, _, _ = l.Propose(within(time.Second), submit("x")) }()
		time.Sleep(10 * time.Second)
		for _, m := range w.peers {
			begun := time.Now()
			status, state := m.Status(), m.State()
			if took := time.Since(begun); took > 0 {
				t.Errorf("%s (%s, %d jobs) answers after %s", m.name, status.Role, state.Jobs.Len(), took)
			}
		}
	})
}
