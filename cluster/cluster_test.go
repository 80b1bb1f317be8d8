//berth:bubble

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/test/sim/simdisk"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

// world is a few peers on a simulated network and simulated disks. It lives in a
// bubble.
type world struct {
	t     *testing.T
	net   *simnet.Net
	peers []*member
}

type member struct {
	*Peer
	name   string
	listed []peer.Server // by the operator
	port   string        // where other peers reach it; ":7000" by default
	host   *simnet.Host
	disk   *simdisk.Disk
	clock  *testClock
	log    *testLog
	halted chan error

	cluster string // "c1" by default
	space   func() (raftstore.Space, error)
	archive *archive.Archive
	tests   Unguarded
	tuning  Tuning

	knows   uint32        // the feature level of its program; 0: the newest
	program ProgramRecord // in its data folder; nil: there is none
}

// level returns the feature level of the peer's program.
func (m *member) level() uint32 { return cmp.Or(m.knows, command.Level) }

// testLog keeps what a peer logs.
type testLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *testLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (m *member) logged(what string) bool {
	m.log.mu.Lock()
	defer m.log.mu.Unlock()
	return bytes.Contains(m.log.text.Bytes(), []byte(what))
}

type testClock struct{ ahead atomic.Int64 } // nanoseconds

func (c *testClock) Wall() time.Time     { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *testClock) Boot() time.Duration { return time.Duration(time.Now().UnixNano()) }

// inWorld runs a test in a bubble with n founding peers, one of which leads.
func inWorld(t *testing.T, n int, change func(*member), test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, net: simnet.New(7)}
		defer w.end()
		for i := range n {
			m := w.add(fmt.Sprintf("p%d", i+1))
			if change != nil {
				change(m)
			}
		}
		for _, m := range w.peers {
			w.start(m)
		}
		var founding sync.WaitGroup
		for _, m := range w.peers {
			founding.Go(func() {
				if err := m.Bootstrap(t.Context(), w.founders()); err != nil {
					t.Error(err)
				}
			})
		}
		founding.Wait()
		w.leader()
		test(w)
	})
}

func (w *world) end() {
	for _, m := range w.peers {
		m.disk.Heal()
		if m.Peer != nil {
			m.Kill()
		}
	}
	w.net.Close()
}

func (w *world) add(name string) *member {
	m := &member{
		name: name, port: ":7000", disk: simdisk.New(uint64(len(w.peers) + 1)), clock: &testClock{},
		log: &testLog{}, halted: make(chan error, 1), cluster: "c1",
	}
	m.disk.SetLatency(simdisk.Latency{Write: 100 * time.Microsecond, Sync: time.Millisecond})
	w.peers = append(w.peers, m)
	return m
}

func (w *world) founders() (out []peer.Server) {
	for _, m := range w.peers {
		out = append(out, peer.Server{ID: model.PeerID(m.name), Address: m.name + ":7000"})
	}
	return out
}

func (w *world) start(m *member) {
	w.t.Helper()
	m.host = w.net.Host(m.name)
	h := m.disk.Open()
	p, err := Start(Config{
		Self:    model.Peer{ID: model.PeerID(m.name), RaftAddress: m.name + m.port, APIAddress: m.name + ":10000", Level: m.level(), Version: "test"},
		Cluster: m.cluster, Network: m.host, Listed: m.listed, Clock: m.clock, Tuning: m.tuning, Tests: m.tests, Archive: m.archive,
		Logger: slog.New(slog.NewTextHandler(m.log, nil)),
		Stores: m.stores(h),
		Halt: func(err error) {
			select {
			case m.halted <- err:
			default:
			}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	m.Peer = p
}

// stores returns a disk's as a peer has them, with checksums unless a test goes without.
func (m *member) stores(h *simdisk.Handle) Stores {
	s := Stores{Log: h.Logs(), Stable: h.Stable(), Snapshots: h.Snapshots(), Space: m.space, Folder: h.Folder(), Program: m.program}
	if !m.tests.NoChecksums {
		s.Log, s.Stable = raftstore.SealLogs(s.Log, m.name), raftstore.SealStable(s.Stable, m.name)
	}
	return s
}

// calm gives a peer a slow pace of raft, for tests that last for virtual minutes: heartbeats are most of what a quiet minute costs.
func calm(m *member) { m.tuning.Timeouts, m.tuning.CommitTimeout = WAN, 200*time.Millisecond }

// crash ends a peer as kill -9 does; its disk keeps what was written.
func (w *world) crash(m *member) {
	m.host.Crash()
	m.disk = m.disk.Clone()
	m.Kill()
}

// until waits up to a virtual minute for a condition.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	for start := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			w.t.Fatalf("a minute passed and not: %s", what)
		}
	}
}

// leader waits until one peer leads with a state that has been founded.
func (w *world) leader() (l *member) {
	w.t.Helper()
	w.until("a leader", func() bool {
		for _, m := range w.peers {
			s := m.State()
			if m.leads() && !s.Settings().Incarnation.IsZero() {
				l = m
				return true
			}
		}
		return false
	})
	return l
}

func (w *world) other(than *member) *member {
	for _, m := range w.peers {
		if m != than {
			return m
		}
	}
	return nil
}

func submit(name string) command.Command {
	c, err := command.New("user:ann", &command.Submit{Tasks: 1, Spec: model.Spec{
		Name: name, User: "ann", Class: model.ClassNormal, Command: "true", GPUs: 1,
		OnLost: model.OnLostRequeue, DisconnectGrace: model.DefaultDisconnectGrace, Grace: 10 * time.Second,
	}})
	if err != nil {
		panic(err)
	}
	return c
}

func within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// A command proposed at the leader is applied by every peer, and a read at a
// follower that is linearizable sees it.
func TestWhatTheLeaderAcknowledgesEverybodyReads(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		r, index, err := l.Propose(within(time.Second), submit("a"), submit("b"))
		if err != nil || len(r) != 2 || r[0].Job != 1 || r[1].Job != 2 {
			t.Fatalf("results %+v at %d: %v", r, index, err)
		}
		for _, m := range w.peers {
			s, err := m.Read(within(time.Second), peer.Linearizable, 0)
			if err != nil || s.Jobs.Len() != 2 {
				t.Fatalf("%s reads %d jobs: %v", m.name, s.Jobs.Len(), err)
			}
		}
	})
}

// Notices to the addresses of jobs are signed from the first one on: the founder draws
// the secret, and every peer has the same. A founder that is given one draws none.
func TestAFoundedClusterSignsItsNotices(t *testing.T) {
	given := model.NewHookSecret([32]byte{7})
	secret := func(change func(*member)) (text string) {
		inWorld(t, 3, change, func(w *world) {
			for _, m := range w.peers {
				s, err := m.Read(within(time.Second), peer.Linearizable, 0)
				if err != nil || text != "" && s.Settings().Notify.Secret != text {
					t.Fatalf("%s has %+v: %v", m.name, s.Settings().Notify, err)
				}
				text = s.Settings().Notify.Secret
			}
		})
		return text
	}
	one, other := secret(nil), secret(nil)
	if !model.HookSecret(one) || !model.HookSecret(other) || one == other {
		t.Error("two clusters' secrets are not two secrets")
	}
	if got := secret(func(m *member) { m.tuning.Founding.Notify.Secret = given }); got != given {
		t.Error("the secret that is given is not the cluster's")
	}
}

// A follower names the leader.
func TestAFollowerNamesTheLeader(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		_, _, err := w.other(l).Propose(within(time.Second), submit("a"))
		not, is := errors.AsType[*peer.NotLeaderError](err)
		if !is || not.Leader != model.PeerID(l.name) {
			t.Fatalf("a follower answered %v, want that %s leads", err, l.name)
		}
		for _, m := range w.peers {
			w.until("a peer knows the leader", func() bool {
				known, self := m.Leader()
				return known == (peer.Server{ID: model.PeerID(l.name), Address: l.name + ":7000"}) && self == (m == l)
			})
		}
		l.Kill()
		w.until("the dead leader is taken for the leader no more", func() bool {
			known, _ := w.other(l).Leader()
			return known.ID != model.PeerID(l.name)
		})
		if _, self := l.Leader(); self {
			t.Error("a peer that has ended says that it leads")
		}
	})
}

// Each change of the leader, and of the peer's own role, is announced.
func TestLeaderChangesAreAnnounced(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		ctx, end := context.WithCancel(context.Background())
		defer end()
		var seen sync.Map // from member to what Leader returned when it was last read
		read := func(m *member) [2]any {
			leader, self := m.Leader()
			return [2]any{leader, self}
		}
		for _, m := range w.peers {
			changes := m.LeaderChanges()
			seen.Store(m, read(m))
			go func() {
				for {
					select {
					case <-changes:
						seen.Store(m, read(m))
					case <-ctx.Done():
						return
					}
				}
			}()
		}
		follow := func() { // w.leader may be the former one for a moment, so it is asked each time
			w.until("each peer has read which one leads", func() bool {
				l := w.leader()
				return !slices.ContainsFunc(w.peers, func(m *member) bool {
					got, _ := seen.Load(m)
					return got != [2]any{peer.Server{ID: model.PeerID(l.name), Address: l.name + ":7000"}, m == l}
				})
			})
		}
		first := w.leader()
		follow()
		if err := first.Transfer(within(time.Minute), ""); err != nil {
			t.Fatal(err)
		}
		w.until("another peer leads", func() bool { return w.leader() != first })
		follow()
		w.net.Isolate(w.leader().name)
		w.until("no leader is seen by the one that is cut off", func() bool {
			return slices.ContainsFunc(w.peers, func(m *member) bool { got, _ := seen.Load(m); return got == [2]any{peer.Server{}, false} })
		})
		w.net.HealAll()
		follow()
	})
}

// A leader counts the scheduler's passes; a follower has none.
func TestTheLeaderCountsItsPasses(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		before := l.Status().Passes.Count
		w.mustPropose(l, 1)
		w.until("another pass is counted", func() bool { return l.Status().Passes.Count > before })
		if got := w.other(l).Status().Passes; got != (peer.Passes{}) {
			t.Errorf("a follower counts %+v", got)
		}
	})
}
