//berth:bubble

package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// hold is that of the clusters in these tests.
const hold = 2 * time.Minute

// kept is a record of a peer's program, which outlives the process.
type kept struct {
	record upgrade.Record
	there  bool
}

func (k *kept) Program() (upgrade.Record, bool) { return k.record, k.there }

func (k *kept) SetProgram(p upgrade.Record) error {
	k.record, k.there = p, true
	return nil
}

// clusterLevel returns the feature level, as a peer has it.
func (m *member) clusterLevel() uint32 {
	s := m.State()
	return s.Settings().Level
}

// exchange ends a peer's process, and starts another program in its place.
func (w *world) exchange(m *member, level uint32) {
	w.t.Helper()
	w.down(m)
	m.knows = level
	w.start(m)
	w.until(m.name+" is known with its program", func() bool {
		s := w.leader().State()
		row, _ := s.Peers.Get(model.PeerID(m.name))
		return row.Level == level && m.Lag().CaughtUp()
	})
}

// newer is the feature level of the programs that the peers are upgraded to.
const newer = command.Level + 1

// old returns a change of peers whose programs know one level less than the newest, and that hold the level.
func old(m *member) {
	calm(m)
	m.knows, m.tuning.LevelHold, m.program = command.Level, hold, &kept{}
}

// A cluster is founded at the newest level that all its founders know, and rises a while after the last peer was upgraded.
// Neither a change of the leader nor a restart of peers makes that sooner or later.
func TestTheLevelIsHeld(t *testing.T) {
	inWorld(t, 3, old, func(w *world) {
		if level := w.leader().clusterLevel(); level != command.Level {
			t.Fatalf("founded at level %d by programs that know %d", level, command.Level)
		}
		for _, m := range w.peers {
			w.exchange(m, newer)
		}
		last := time.Now()
		w.mustPropose(w.leader(), 1) // the clock of the state goes on
		time.Sleep(hold / 2)
		l := w.leader()
		w.exchange(l, newer) // a restart is no upgrade
		time.Sleep(time.Until(last.Add(hold - 5*time.Second)))
		if level := w.leader().clusterLevel(); level != command.Level {
			t.Errorf("the level is %d, %s after the last peer was upgraded", level, time.Since(last))
		}
		w.until("the level rises", func() bool { return w.leader().clusterLevel() == newer })
		if late := time.Since(last) - hold; late.Abs() > 10*time.Second {
			t.Errorf("the level rose %s after the end of the hold", late)
		}
	})
}

// A peer that goes back to the program before, and forward again, begins the hold again.
func TestAStepBackBeginsTheHoldAnew(t *testing.T) {
	inWorld(t, 3, old, func(w *world) {
		for _, m := range w.peers {
			w.exchange(m, newer)
		}
		back := w.other(w.leader())
		time.Sleep(hold * 3 / 4)
		record := back.program
		back.program = nil // the program before does not know the record, and leaves it
		w.exchange(back, command.Level)
		w.mustPropose(w.leader(), 1)
		back.program = record
		w.exchange(back, newer)
		again := time.Now()
		time.Sleep(hold - 10*time.Second)
		if level := w.leader().clusterLevel(); level != command.Level {
			t.Errorf("the level is %d, %s after the last upgrade", level, time.Since(again))
		}
		w.until("the level rises", func() bool { return w.leader().clusterLevel() == newer })
	})
}

// While a peer is down, the program that it will be started with is unknown: the level is held.
func TestASilentPeerHoldsTheLevel(t *testing.T) {
	inWorld(t, 3, old, func(w *world) {
		for _, m := range w.peers {
			w.exchange(m, newer)
		}
		away := w.other(w.leader())
		w.down(away)
		time.Sleep(2 * hold)
		l := w.leader()
		if level := l.clusterLevel(); level != command.Level {
			t.Errorf("the level is %d while %s is down", level, away.name)
		}
		if known := l.Programs(); len(known.Held().Silent) != 1 || known.Held().Silent[0] != model.PeerID(away.name) {
			t.Errorf("the hold is %+v", known.Held())
		}
		w.start(away)
		w.until("the level rises", func() bool { return l.clusterLevel() == newer })
	})
}

// Founders of two programs found a cluster that both know; founders of the newest do not wait for any hold.
func TestFoundersOfTwoPrograms(t *testing.T) {
	inWorld(t, 3, func(m *member) {
		if m.tuning.LevelHold, m.knows = hold, newer; m.name == "p2" {
			m.knows = command.Level
		}
	}, func(w *world) {
		if level := w.leader().clusterLevel(); level != command.Level {
			t.Errorf("founded at level %d", level)
		}
	})
	inWorld(t, 3, func(m *member) { m.tuning.LevelHold, m.knows = hold, newer }, func(w *world) {
		if level := w.leader().clusterLevel(); level != newer {
			t.Errorf("founded at level %d", level)
		}
	})
}

// A peer whose program does not know the cluster's level is not taken in, and learns why. One that joins does not begin a hold.
func TestAJoinerKnowsTheLevel(t *testing.T) {
	inWorld(t, 1, func(m *member) { m.knows = newer }, func(w *world) {
		m := w.add("p2")
		m.knows = command.Level
		m.cluster = "" // learnt
		w.start(m)
		err := m.Join(within(time.Minute), []string{"p1:7000"})
		if err == nil || !strings.Contains(err.Error(), "the cluster is at feature level 2, and the program of peer p2 (test) knows levels up to 1") {
			t.Errorf("a peer of an older program joins: %v", err)
		}
	})
	inWorld(t, 1, old, func(w *world) {
		w.exchange(w.peers[0], newer)
		upgraded := time.Now()
		w.mustPropose(w.leader(), 1)
		time.Sleep(hold / 2)
		m := w.add("p2")
		m.cluster, m.knows, m.program, m.tuning.LevelHold = "", newer, &kept{}, hold
		w.start(m)
		if err := m.Join(within(time.Minute), []string{"p1:7000"}); err != nil {
			t.Fatal(err)
		}
		w.until("the level rises", func() bool { return w.leader().clusterLevel() == newer })
		w.until("the peer that has joined is heard", func() bool {
			known := w.leader().Programs()
			return len(known.Peers) == 2 && known.Peers[1].Settled && known.Peers[1].Since == 0
		})
		if late := time.Since(upgraded) - hold; late > 10*time.Second {
			t.Errorf("the level rose %s late", late)
		}
	})
}

// An older program that is started while the level rises halts at that entry, before its state differs.
func TestAnOlderProgramHaltsAtTheLevel(t *testing.T) {
	inWorld(t, 1, nil, func(w *world) {
		l := w.leader()
		c, err := command.New("user:ann", &command.RaiseLevel{Level: newer})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _, _ = l.Propose(within(time.Minute), c) }()
		select {
		case err := <-l.halted:
			if !strings.Contains(err.Error(), "feature level 2 of the cluster, which this program does not know") {
				t.Errorf("it halts because of %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the program goes on at a level that it does not know")
		}
	})
}
