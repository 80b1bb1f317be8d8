//berth:bubble

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/test/sim/simdisk"
)

// bothWays runs a scenario with a guard in place and without it.
func bothWays(t *testing.T, test func(t *testing.T, guarded bool)) {
	t.Helper()
	t.Run("guarded", func(t *testing.T) { test(t, true) })
	t.Run("unguarded", func(t *testing.T) { test(t, false) })
}

// A leader whose disk hangs would lead for ever (hashicorp/raft#503); with the watchdog another peer leads
// within seconds.
func TestAHungDiskCostsTheLeadership(t *testing.T) {
	const long = time.Minute // many times what an election takes
	bothWays(t, func(t *testing.T, guarded bool) {
		change := func(m *member) { m.tests.NoWatchdog = !guarded }
		inWorld(t, 3, change, func(w *world) {
			l := w.leader()
			l.disk.Stall(24 * time.Hour)
			go func() { _, _, _ = l.Propose(within(time.Second), submit("x")) }()
			took := w.timeToWrite(without(w.peers, l), long)
			if guarded {
				w.expectHalt(l, "the disk")
			}
			l.disk.Heal()
			if guarded && took > 5*time.Second {
				t.Errorf("with the watchdog the next write took %s, want at most 5s", took)
			}
			if !guarded && took < long {
				t.Errorf("without the watchdog the next write took %s: the hazard is gone, and so is the guard's reason", took)
			}
		})
	})
}

// A peer whose disk fails a write ends itself, rather than go on with a file whose content is unknown.
func TestAFailedSyncEndsThePeer(t *testing.T) {
	bothWays(t, func(t *testing.T, guarded bool) {
		change := func(m *member) { m.tests.NoWatchdog = !guarded }
		inWorld(t, 3, change, func(w *world) {
			l := w.leader()
			l.disk.Fail(syscall.EIO, 1, simdisk.SyncLog)
			_, _, _ = l.Propose(within(time.Second), submit("x"))
			time.Sleep(2 * time.Second)
			if ended := len(l.halted) > 0; ended != guarded {
				t.Errorf("after a failed sync the peer ended: %v, want %v", ended, guarded)
			}
		})
	})
}

// Raft's main goroutine waits until a notice of leadership is taken. Without room
// for notices a slow taker keeps a new leader from leading.
func TestASlowTakerOfNoticesHoldsNobodyUp(t *testing.T) {
	bothWays(t, func(t *testing.T, guarded bool) {
		const slow = 20 * time.Second
		var slowly atomic.Bool
		change := func(m *member) {
			m.tests.NoNoticeRoom = !guarded
			m.tests.SlowNotice = func() {
				if slowly.Load() {
					time.Sleep(slow)
				}
			}
		}
		inWorld(t, 3, change, func(w *world) {
			l := w.leader()
			m := w.other(l)
			slowly.Store(true)
			sendLeadership(t, l, m)
			sendLeadership(t, m, l) // now both have a notice that is being taken
			took := w.timeToWrite(w.peers, time.Minute)
			if guarded && took > 2*time.Second {
				t.Errorf("writes stood still for %s", took)
			}
			if !guarded && took < slow/2 {
				t.Errorf("without room writes stood still for %s only: the hazard is gone", took)
			}
		})
	})
}

func sendLeadership(t *testing.T, from, to *member) {
	t.Helper()
	id, address := raft.ServerID(to.name), raft.ServerAddress(to.name+":7000")
	for try := 0; to.raft.State() != raft.Leader; try++ {
		if try == 1000 {
			t.Fatalf("%s does not lead", to.name)
		}
		from.raft.LeadershipTransferToServer(id, address)
		time.Sleep(20 * time.Millisecond)
	}
}

// With few trailing logs a follower that was away for a moment needs a snapshot
// (and raft was seen to install them in a loop); with enough it does not.
func TestAShortAbsenceNeedsNoSnapshot(t *testing.T) {
	bothWays(t, func(t *testing.T, guarded bool) {
		change := func(m *member) {
			m.tests.ShortLogs = !guarded
			m.tuning = Tuning{TrailingLogs: 10, SnapshotThreshold: 20, SnapshotInterval: time.Second}
		}
		inWorld(t, 3, change, func(w *world) {
			l := w.leader()
			away := w.other(l)
			w.net.Isolate(away.name)
			for range 100 {
				w.mustPropose(l, 1)
			}
			time.Sleep(5 * time.Second)
			w.net.HealAll()
			w.until("it has caught up", func() bool { s := away.State(); return s.Jobs.Len() == 100 })
			if installed := away.logged("restored from a snapshot"); installed == guarded {
				t.Errorf("a snapshot was installed: %v", installed)
			}
		})
	})
}

// After a snapshot that lies behind what this peer has served, it serves nothing
// until it has caught up.
func TestAPeerDoesNotServeThePast(t *testing.T) {
	bothWays(t, func(t *testing.T, guarded bool) {
		change := func(m *member) { m.tests.NoFloor = !guarded }
		inWorld(t, 3, change, func(w *world) {
			l := w.leader()
			past := l.State()
			w.mustPropose(l, 3)
			w.until("it has them", func() bool { s := w.other(l).State(); return s.Jobs.Len() == 3 })
			w.net.Isolate(w.other(l).name) // nothing new comes on top
			time.Sleep(time.Second)
			w.rollBack(w.other(l), past)
			s, err := w.other(l).Read(within(time.Second), peer.Stale, 0)
			if guarded && !errors.Is(err, peer.ErrBehind) {
				t.Errorf("read %d jobs (%v), want ErrBehind", s.Jobs.Len(), err)
			}
			if !guarded && (err != nil || s.Jobs.Len() != 0) {
				t.Errorf("read %d jobs: %v; the hazard is gone", s.Jobs.Len(), err)
			}
		})
	})
}

func (w *world) rollBack(m *member, to state.State) {
	w.t.Helper()
	var b bytes.Buffer
	if err := snapshot.Write(&to, &b); err != nil {
		w.t.Fatal(err)
	}
	if err := m.fsm.Restore(readCloser{&b}); err != nil {
		w.t.Fatal(err)
	}
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

// A defect that makes one peer's state differ is noticed, and that peer leaves.
func TestAPeerThatDiffersLeaves(t *testing.T) {
	bothWays(t, func(t *testing.T, guarded bool) {
		change := func(m *member) {
			m.tests.NoQuarantine = !guarded
			if m.name == "p2" {
				m.tests.Apply = dropsEveryTenth
			}
		}
		inWorld(t, 3, change, func(w *world) {
			bad := w.peers[1]
			for range 1200 {
				w.write()
			}
			time.Sleep(10 * time.Second)
			if left := len(bad.halted) > 0; left != guarded {
				t.Fatalf("the peer that differs left: %v, want %v", left, guarded)
			}
			for _, m := range []*member{w.peers[0], w.peers[2]} {
				if len(m.halted) > 0 {
					t.Errorf("%s left too: %v", m.name, <-m.halted)
				}
			}
			if guarded {
				w.expectHalt(bad, "new --id")
			}
		})
	})
}

func dropsEveryTenth(s state.State, m state.Meta, c []command.Command) (state.State, []command.Result, state.Changes) {
	if m.Index%10 == 0 {
		c = slices.Clone(c[:len(c)-1])
	}
	return apply.Apply(s, m, c)
}

// A leader whose clock is wrong hands over; one whose clock is minutes ahead cannot move the state's clock.
func TestALeaderWithAWrongClockHandsOver(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		time.Sleep(3 * time.Second)
		l.clock.ahead.Store(int64(10 * time.Minute))
		r, _, err := l.Propose(within(time.Second), submit("x"))
		if err != nil || r[0].Code != model.CodeClock {
			t.Errorf("a stamp ten minutes ahead gave %+v, %v; want %s", r, err, model.CodeClock)
		}
		w.until("another leads", func() bool { return !l.leads() && w.leader() != l })
	})
}

// A leader with little room on its disk takes no user commands, and hands over to
// a peer that has some.
func TestALeaderWithoutSpaceHandsOver(t *testing.T) {
	var full sync.Map // of names
	change := func(m *member) {
		m.space = func() (raftstore.Space, error) {
			if _, is := full.Load(m.name); is {
				return raftstore.Space{Free: 1 << 20, Total: 1 << 40}, nil
			}
			return raftstore.Space{Free: 1 << 39, Total: 1 << 40}, nil
		}
	}
	inWorld(t, 3, change, func(w *world) {
		l := w.leader()
		full.Store(l.name, true)
		w.until("another leads", func() bool { return !l.leads() && w.leader() != l })
		w.mustPropose(w.leader(), 1)
		for _, m := range w.peers {
			full.Store(m.name, true)
		}
		time.Sleep(5 * time.Second)
		if _, _, err := w.leader().Propose(within(time.Second), submit("x")); !errors.Is(err, peer.ErrNoSpace) {
			t.Errorf("with all disks full a submission gave %v, want ErrNoSpace", err)
		}
		term := w.leader().Status().Term
		time.Sleep(30 * time.Second)
		if now := w.leader().Status().Term; now != term {
			t.Errorf("with all disks full leadership went round: from term %d to %d in 30 seconds", term, now)
		}
	})
}

func (w *world) expectHalt(m *member, says string) {
	w.t.Helper()
	w.until(m.name+" ends", func() bool { return len(m.halted) > 0 })
	if err := <-m.halted; !bytes.Contains([]byte(err.Error()), []byte(says)) {
		w.t.Errorf("%s ended with %q, want something about %q", m.name, err, says)
	}
}

// write submits one job to the current leader and requires the acknowledgement.
func (w *world) write() {
	w.t.Helper()
	if took := w.timeToWrite(w.peers, time.Minute); took >= time.Minute {
		w.t.Fatal("nothing was acknowledged for a minute")
	}
}

// timeToWrite tries the peers in turn until one acknowledges a submission.
func (w *world) timeToWrite(peers []*member, limit time.Duration) time.Duration {
	start := time.Now()
	for try := 0; time.Since(start) < limit; try++ {
		m := peers[try%len(peers)]
		if _, _, err := m.Propose(within(time.Second), submit(fmt.Sprint(try))); err == nil {
			return time.Since(start)
		}
		if try%len(peers) == len(peers)-1 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return limit
}

func (w *world) mustPropose(m *member, n int) {
	w.t.Helper()
	list := make([]command.Command, n)
	for i := range list {
		list[i] = submit(fmt.Sprint(i))
	}
	r, _, err := m.Propose(within(5*time.Second), list...)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range r {
		if !r[i].OK() {
			w.t.Fatalf("a submission was refused: %+v", r[i])
		}
	}
}

// A follower is stuck when it lacks entries for long. One whose idle log stood still for as long lacks the
// newest entry for a moment only: a cluster that is idle between two entries must not change its leader at
// each of them.
func TestAnIdleFollowerIsNotStuck(t *testing.T) {
	m := newMates()
	hear := func(at time.Duration, theirs, ours uint64) bool {
		m.note(hello{Peer: model.Peer{ID: "p2"}, Last: theirs}, ours, at, 0)
		return m.heard["p2"].isStuck(at)
	}
	for at := time.Second; at < time.Minute; at += time.Second {
		if hear(at, 7, 7) {
			t.Fatalf("stuck at %s, although there is nothing to get", at)
		}
	}
	if hear(time.Minute, 7, 8) {
		t.Fatal("stuck, although the entry is new")
	}
	hear(61*time.Second, 8, 8)
	stuck := time.Duration(0)
	for at := 62 * time.Second; stuck == 0 && at < 2*time.Minute; at += time.Second {
		if hear(at, 8, 9) {
			stuck = at
		}
	}
	if want := 62*time.Second + stuckFor + time.Second; stuck != want {
		t.Errorf("stuck at %s, want %s", stuck, want)
	}
}
