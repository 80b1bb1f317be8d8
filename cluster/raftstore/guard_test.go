package raftstore

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

//berth:bubble

// trio is three raft peers in one bubble, each with a store that can be spoilt.
type trio struct {
	t       *testing.T
	peers   []*peer
	ctx     context.Context // the life of the bubble
	guarded bool
}

type peer struct {
	id      raft.ServerAddress
	raft    *raft.Raft
	trans   *raft.InmemTransport
	store   *flakyStore
	dog     *Watchdog
	verdict atomic.Pointer[Verdict]
}

// action returns the watchdog's last action for this peer.
func (p *peer) action() Action {
	if v := p.verdict.Load(); v != nil {
		return v.Action
	}
	return Calm
}

// inTrio runs a test on three connected peers. guarded is the switch: without
// it raft gets its stores bare.
func inTrio(t *testing.T, guarded bool, test func(*trio)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		c := &trio{t: t, ctx: ctx, guarded: guarded}
		var conf raft.Configuration
		for i := range 3 {
			p := &peer{id: raft.ServerAddress(fmt.Sprintf("p%d", i)), store: newFlaky()}
			_, p.trans = raft.NewInmemTransport(p.id)
			c.peers = append(c.peers, p)
			conf.Servers = append(conf.Servers, raft.Server{ID: raft.ServerID(p.id), Address: p.id})
		}
		for _, p := range c.peers {
			c.connect(p)
			c.start(p, conf)
		}
		test(c)
		cancel()
		var stopping []raft.Future
		// all at once: while one peer leads, the clock of the bubble goes on, and a peer that never stops is not noticed
		for _, p := range c.peers {
			p.store.release()
			stopping = append(stopping, p.raft.Shutdown())
		}
		for i, p := range c.peers {
			check(t, stopping[i].Error())
			check(t, p.trans.Close())
		}
	})
}

func (c *trio) connect(p *peer) {
	for _, o := range c.peers {
		if o != p {
			p.trans.Connect(o.id, o.trans)
			o.trans.Connect(p.id, p.trans)
		}
	}
}

// silence is a peer's reaction to HandOver and Exit: the other peers no longer hear it.
func (c *trio) silence(p *peer) {
	p.trans.DisconnectAll()
	for _, o := range c.peers {
		o.trans.Disconnect(p.id)
	}
}

func (c *trio) start(p *peer, conf raft.Configuration) {
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(p.id)
	rc.Logger = hclog.NewNullLogger()
	rc.HeartbeatTimeout, rc.ElectionTimeout, rc.LeaderLeaseTimeout = 250*time.Millisecond, 250*time.Millisecond, 125*time.Millisecond
	snaps := raft.NewDiscardSnapshotStore()
	check(c.t, raft.BootstrapCluster(rc, p.store, p.store, snaps, p.trans, conf))
	var logs raft.LogStore = p.store
	var stable raft.StableStore = p.store
	dog := NewWatchdog(string(p.id), Limits{})
	p.dog = dog
	if c.guarded {
		logs, stable = dog.Logs(logs), dog.Stable(stable)
	}
	var err error
	p.raft, err = raft.NewRaft(rc, nullFSM{}, logs, stable, snaps, p.trans)
	check(c.t, err)
	if c.guarded {
		go dog.Watch(c.ctx, 100*time.Millisecond, func() bool { return p.raft.State() == raft.Leader }, func(v Verdict) {
			p.verdict.Store(&v)
			c.silence(p)
		})
	}
}

// leader waits until a peer other than the given one leads, for limit at most.
func (c *trio) leader(not *peer, limit time.Duration) *peer {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(limit / 2000) {
		for _, p := range c.peers {
			if p != not && p.raft.State() == raft.Leader && p.raft.VerifyLeader().Error() == nil {
				return p
			}
		}
	}
	return nil
}

// write applies one command at p and returns the result within limit.
func write(p *peer, limit time.Duration) error {
	done := make(chan error, 1)
	f := p.raft.Apply([]byte("x"), 0)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return context.DeadlineExceeded
	}
}

// TestHungDisk is hashicorp/raft#503: a leader's log store hangs for ever.
func TestHungDisk(t *testing.T) {
	hang := func(c *trio) *peer {
		old := c.leader(nil, time.Minute)
		check(t, write(old, time.Second))
		old.store.hang()
		old.raft.Apply([]byte("lost"), 0)
		return old
	}
	t.Run("watched", func(t *testing.T) {
		inTrio(t, true, func(c *trio) {
			old, start := hang(c), time.Now()
			next := c.leader(old, time.Minute)
			if next == nil {
				t.Fatal("no peer took over within a minute")
			}
			check(t, write(next, time.Second))
			if took := time.Since(start); took < 2*time.Second || took > 4*time.Second {
				t.Errorf("a write succeeded after %v, want between 2 s and 4 s", took)
			}
			time.Sleep(10 * time.Second)
			if old.action() != Exit {
				t.Errorf("10 s later the peer with the hung disk has verdict %v", old.action())
			}
		})
	})
	t.Run("bare", func(t *testing.T) {
		inTrio(t, false, func(c *trio) {
			old := hang(c)
			if next := c.leader(old, 5*time.Minute); next != nil {
				t.Errorf("%s took over: raft handles a hung disk now, the watchdog may go", next.id)
			}
			if old.raft.State() != raft.Leader {
				t.Errorf("the peer with the hung disk is %v", old.raft.State())
			}
		})
	})
}

// TestFailedSync is rostamlabs/rostam#94: one fsync fails, later ones succeed.
func TestFailedSync(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		t.Run(fmt.Sprintf("guarded=%v", guarded), func(t *testing.T) {
			inTrio(t, guarded, func(c *trio) {
				old := c.leader(nil, time.Minute)
				check(t, write(old, time.Second))
				old.store.failOnce(syscall.EIO)
				if err := write(old, time.Second); err == nil {
					t.Fatal("a write succeeded although its fsync failed")
				}
				kept := old.store.stores()
				next := c.leader(nil, time.Minute)
				if next == nil {
					t.Fatal("no peer leads a minute after the failed fsync")
				}
				for range 100 {
					check(t, write(next, time.Second))
				}
				time.Sleep(time.Minute)
				went := old.store.stores() - kept
				if guarded && (went != 0 || old.action() != Exit) {
					t.Errorf("after its failed fsync the peer stored %d batches more, verdict %v", went, old.action())
				}
				if !guarded && went == 0 {
					t.Error("the bare peer stopped by itself: raft latches errors now, the watchdog may go")
				}
			})
		})
	}
}

// TestALeaderThatCannotReadStops: replication reads the log, too, and a goroutine of replication that is held and ended leaves
// another one waiting, so that raft is never shut down.
func TestALeaderThatCannotReadStops(t *testing.T) {
	inTrio(t, true, func(c *trio) {
		old := c.leader(nil, time.Minute)
		check(t, write(old, time.Second))
		_ = old.dog.latch.trip(syscall.EIO)
		time.Sleep(time.Minute)
		if old.action() != Exit {
			t.Errorf("the peer has verdict %v", old.action())
		}
	})
}

// TestReplicationIsRecognized: raft's replication is known by the name of a function in its stack, which another version of raft
// may rename. Only the leader replicates.
func TestReplicationIsRecognized(t *testing.T) {
	inTrio(t, true, func(c *trio) {
		leader := c.leader(nil, time.Minute)
		check(t, write(leader, time.Second))
		for _, p := range c.peers {
			if sent := p.store.sent.Load(); (sent > 0) != (p == leader) {
				t.Errorf("%s has read its log %d times to send entries, and %s leads", p.id, sent, leader.id)
			}
		}
	})
}

// TestTermThatCannotBeWritten: raft would panic on its own goroutine, where
// nothing can catch it. The watchdog ends the peer in order instead.
func TestTermThatCannotBeWritten(t *testing.T) {
	inTrio(t, true, func(c *trio) {
		old := c.leader(nil, time.Minute)
		for _, p := range c.peers {
			if p != old {
				p.store.failTerm(syscall.ENOSPC)
			}
		}
		c.silence(old)
		time.Sleep(time.Minute)
		ended := 0
		for _, p := range c.peers {
			if p.action() == Exit {
				ended++
			}
		}
		if ended == 0 {
			t.Error("no peer ended, though no new term could be written")
		}
	})
}

// nullFSM keeps nothing.
type nullFSM struct{}

func (nullFSM) Apply(*raft.Log) any                 { return nil }
func (nullFSM) Snapshot() (raft.FSMSnapshot, error) { return nil, raft.ErrNothingNewToSnapshot }
func (nullFSM) Restore(r io.ReadCloser) error       { return r.Close() }
