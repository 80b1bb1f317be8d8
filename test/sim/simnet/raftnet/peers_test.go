//berth:bubble

package raftnet_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

const ms = time.Millisecond

// cluster is raft peers over a simulated network, with logs in memory. It lives in one synctest bubble.
type cluster struct {
	net   *simnet.Net
	peers []*peer
}

type peer struct {
	id        string
	mux       *raftnet.Mux
	transport *pipeWatch
	raft      *raft.Raft
	log       *slowLog
	fsm       *journal
}

type clusterConfig struct {
	seed      uint64
	unguarded raftnet.Unguarded
	tune      func(peer int, c *raft.Config) // called after the defaults were set
}

func startCluster(t *testing.T, config clusterConfig) *cluster {
	t.Helper()
	c := &cluster{net: simnet.New(config.seed)}
	var servers raft.Configuration
	for i := range 3 {
		id := fmt.Sprintf("n%d", i)
		servers.Servers = append(servers.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id + ":7000")})
	}
	for i, s := range servers.Servers {
		c.peers = append(c.peers, c.startPeer(t, i, string(s.ID), servers, config))
	}
	return c
}

func (c *cluster) startPeer(t *testing.T, i int, id string, servers raft.Configuration, config clusterConfig) *peer {
	t.Helper()
	mux, err := raftnet.Listen(raftnet.MuxConfig{Network: c.net.Host(id), Bind: id + ":7000"})
	if err != nil {
		t.Fatal(err)
	}
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(id)
	rc.HeartbeatTimeout, rc.ElectionTimeout, rc.LeaderLeaseTimeout = 250*ms, 250*ms, 125*ms
	rc.LogOutput = io.Discard
	if config.tune != nil {
		config.tune(i, rc)
	}
	p := &peer{id: id, mux: mux, log: &slowLog{InmemStore: raft.NewInmemStore()}, fsm: &journal{}}
	p.transport = &pipeWatch{Transport: raftnet.NewTransport(mux.Raft(), raftnet.TransportConfig{Unguarded: config.unguarded})}
	snapshots := raft.NewInmemSnapshotStore()
	if err := raft.BootstrapCluster(rc, p.log, p.log.InmemStore, snapshots, p.transport, servers); err != nil {
		t.Fatal(err)
	}
	if p.raft, err = raft.NewRaft(rc, p.fsm, p.log, p.log.InmemStore, snapshots, p.transport); err != nil {
		t.Fatal(err)
	}
	return p
}

func (c *cluster) stop(t *testing.T) {
	t.Helper()
	for _, p := range c.peers {
		p.transport.closePipelines()
		if err := p.raft.Shutdown().Error(); err != nil {
			t.Error(err)
		}
		if err := p.mux.Close(); err != nil {
			t.Error(err)
		}
	}
	c.net.Close()
}

// leader waits for one peer that leads in the highest term.
func (c *cluster) leader() *peer {
	for {
		var best *peer
		for _, p := range c.peers {
			if p.raft.State() == raft.Leader && (best == nil || p.raft.CurrentTerm() > best.raft.CurrentTerm()) {
				best = p
			}
		}
		if best != nil {
			return best
		}
		time.Sleep(5 * ms)
	}
}

// other waits for a leader that is not the given one.
func (c *cluster) other(than *peer) *peer {
	for {
		for _, p := range c.peers {
			if p != than && p.raft.State() == raft.Leader {
				return p
			}
		}
		time.Sleep(ms)
	}
}

func (c *cluster) followers(leader *peer) []*peer {
	return slices.DeleteFunc(slices.Clone(c.peers), func(p *peer) bool { return p == leader })
}

// term returns the highest term that any peer knows.
func (c *cluster) term() uint64 {
	var highest uint64
	for _, p := range c.peers {
		highest = max(highest, p.raft.CurrentTerm())
	}
	return highest
}

// differ returns an index at which two peers applied different commands, or 0.
func (c *cluster) differ() uint64 {
	for index := uint64(1); index < 1000; index++ {
		seen := map[string]bool{}
		for _, p := range c.peers {
			if command, ok := p.fsm.at(index); ok {
				seen[command] = true
			}
		}
		if len(seen) > 1 {
			return index
		}
	}
	return 0
}

// leads reports whether a peer leads, and in which term it surely did.
func (p *peer) leads() (term uint64, leads bool) {
	term = p.raft.CurrentTerm()
	return term, p.raft.State() == raft.Leader && p.raft.CurrentTerm() == term
}

func (p *peer) apply(command string) error {
	return p.raft.Apply([]byte(command), time.Second).Error()
}

// pipeWatch remembers raft's pipelines, to close those that wait on themselves: raft could not shut down.
type pipeWatch struct {
	*raftnet.Transport
	mu    sync.Mutex
	pipes []raft.AppendPipeline
}

// AppendEntriesPipeline returns the Transport's.
func (w *pipeWatch) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	pipe, err := w.Transport.AppendEntriesPipeline(id, target)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.pipes = append(w.pipes, pipe)
	}
	return pipe, err
}

func (w *pipeWatch) closePipelines() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pipe := range w.pipes {
		_ = pipe.Close()
	}
}

// slowLog is a log in memory whose writes can be made to wait or to fail.
type slowLog struct {
	*raft.InmemStore
	mu    sync.Mutex
	until time.Time // writes wait for this time
	fail  error     // and then fail, if it is set
}

// stall makes the writes of the next d wait until d is over and then fail, unless the failure is nil.
func (l *slowLog) stall(d time.Duration, failure error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until, l.fail = time.Now().Add(d), failure
}

func (l *slowLog) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

func (l *slowLog) StoreLogs(entries []*raft.Log) error {
	l.mu.Lock()
	until, fail := l.until, l.fail
	l.mu.Unlock()
	if wait := time.Until(until); wait > 0 {
		time.Sleep(wait)
		if fail != nil {
			return fail
		}
	}
	return l.InmemStore.StoreLogs(entries)
}

// journal is a state machine that remembers what was applied where.
type journal struct {
	mu      sync.Mutex
	applied map[uint64]string
}

func (j *journal) Apply(entry *raft.Log) any {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.applied == nil {
		j.applied = map[uint64]string{}
	}
	j.applied[entry.Index] = string(entry.Data)
	return nil
}

func (j *journal) Snapshot() (raft.FSMSnapshot, error) {
	return nil, errors.New("a journal has no snapshot")
}

func (j *journal) Restore(io.ReadCloser) error { return errors.New("a journal has no snapshot") }

func (j *journal) at(index uint64) (string, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	command, ok := j.applied[index]
	return command, ok
}

func (j *journal) has(command string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.applied {
		if c == command {
			return true
		}
	}
	return false
}
