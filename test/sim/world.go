package sim

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cluster"
	clusterpeer "github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/test/sim/simdisk"
	"github.com/berth-gpu/berth/test/sim/simnet"
	"github.com/berth-gpu/berth/test/sim/simtrust"
)

// Setup is the configuration of a simulation.
type Setup struct {
	Seed         uint64
	Peers, Nodes int
	GPUs         int           // of each node
	Users        int           // clients that submit at random
	Faulty       time.Duration // for how long faults come and users submit
	Tuning       cluster.Tuning
	Unguarded    cluster.Unguarded
	Twists       Twists
	Stores       func(machine string, s cluster.Stores) cluster.Stores // wraps a peer's stores
	Log          io.Writer                                             // the peers' logs; nil: nowhere
	Quarantine   bool                                                  // a peer is expected to leave because its state is wrong
	Away         bool                                                  // agents let jobs go on without any leader
	TLS          bool                                                  // between peers, and from agents to peers
}

// Twists break single rules on the simulated edge of the cluster, for tests of the tests: with a twist, a check must fail.
type Twists struct {
	CountFromAnswer bool          // agents count their lease from the answer
	AbsenceKills    bool          // agents act on every desired set, however old
	AnySet          bool          // agents begin what a set names by any renewal, even a newer one
	StalePolls      bool          // peers without a leader answer polls, which is slow but does no harm
	PollPause       time.Duration // how long agents wait after a poll that failed at least; does no harm either
	TakenEarly      bool          // agents report ranks as taken before these have a folder; does no harm by itself
	Forgets         bool          // agents do nothing about ranks that were taken and have no folder
	NewKeys         bool          // a submission that a peer passes on again gets another key
	NoGeneration    bool          // a recovery does not raise the generation
	Unsaid          string        // a rule, by the name of its breach, whose requirements are kept from the cluster
}

// World is one simulated cluster. It lives in a bubble.
type World struct {
	Setup
	ctx   context.Context
	end   context.CancelFunc
	work  sync.WaitGroup // every goroutine of the run
	rng   *rand.Rand     // of the goroutine that sets the world up and drives the faults
	net   *simnet.Net
	trace *Trace
	judges
	hosts   []*host              // does not change after the start but by addHost
	liar    atomic.Pointer[peer] // the peer whose disk loses what it has synced; nil: none
	leaving atomic.Int32         // peers gone for good whose removal is pending
	shared  shared

	certificates *simtrust.Certificates // nil: connections are in plain text
}

// judges compare what happens with what should.
type judges struct {
	truth  *truth
	oracle *oracle
	rules  *rules
}

// shared is what several goroutines change.
type shared struct {
	mu    sync.Mutex
	dice  *rand.Rand
	peers []*peer
	acks  []*deed
}

// NewWorld sets a world up and starts its machines.
func NewWorld(s Setup) *World {
	w := &World{
		Setup: s, rng: newRNG(s.Seed, 1), net: simnet.New(s.Seed), trace: newTrace(),
		shared: shared{dice: newRNG(s.Seed, 2)},
	}
	if s.TLS {
		w.certificates = simtrust.New()
	}
	w.ctx, w.end = context.WithCancel(context.Background())
	w.truth, w.oracle, w.rules = newTruth(w), newOracle(w), newRules(w)
	for i := range s.Peers {
		p := newPeer(w, fmt.Sprintf("p%d", i+1))
		w.shared.peers = append(w.shared.peers, p)
	}
	founders := w.founders()
	for _, p := range w.peers() {
		p.start()
	}
	for _, p := range w.peers() {
		if err := p.running().Bootstrap(w.ctx, founders); err != nil {
			w.trace.Break(BreachProgress, "%s cannot found the cluster: %v", p.name, err)
		}
	}
	for i := range s.Nodes {
		w.addHost(fmt.Sprintf("n%d", i+1), model.NodeID(fmt.Sprintf("n%d", i+1)), s.GPUs)
	}
	w.work.Go(w.watch)
	return w
}

func newRNG(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

func (w *World) addHost(name string, node model.NodeID, gpus int) *host {
	h := newHost(w, name, node, gpus)
	w.truth.mu.Lock()
	defer w.truth.mu.Unlock()
	w.hosts = append(w.hosts, h)
	return h
}

// Close ends everything and waits until all goroutines have.
func (w *World) Close() {
	w.end()
	for _, p := range w.everyPeer() {
		p.stop(false)
	}
	w.net.Close()
	w.work.Wait()
	sleep(context.Background(), time.Second) // the connections' own goroutines end, too
}

// founders returns the peers that found the cluster.
func (w *World) founders() (out []clusterpeer.Server) {
	for _, p := range w.peers() {
		out = append(out, clusterpeer.Server{ID: model.PeerID(p.name), Address: raftAddress(p.name)})
	}
	return out
}

// everyPeer returns all peers there have ever been.
func (w *World) everyPeer() []*peer {
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	return slices.Clone(w.shared.peers)
}

// peers returns all peers except for those gone for good and those that a recovery left behind.
func (w *World) peers() []*peer {
	return slices.DeleteFunc(w.everyPeer(), func(p *peer) bool { f := p.change(func(*fate) {}); return f.gone || f.former })
}

// leader returns the machine of the peer that leads, in the highest term; or nil.
func (w *World) leader() (best *peer) {
	var term uint64
	for _, p := range w.peers() {
		if run := p.running(); run != nil {
			if s := run.Status(); s.Role == clusterpeer.RoleLeader && s.Term > term {
				best, term = p, s.Term
			}
		}
	}
	return best
}

func (w *World) apiAddresses() (out []string) {
	for _, p := range w.peers() {
		out = append(out, apiAddress(p.name))
	}
	return out
}

func (w *World) raftAddresses() (out []string) {
	for _, p := range w.peers() {
		out = append(out, raftAddress(p.name))
	}
	return out
}

// tuning returns the setup's, with times that fit a run of minutes.
func (w *World) tuning() cluster.Tuning {
	t := w.Tuning
	if t.StartDeadline == 0 {
		t.StartDeadline = 20 * time.Second
	}
	return t
}

// random draws from the dice that all goroutines share.
func (w *World) random() uint64 {
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	return w.shared.dice.Uint64()
}

// draw returns a time from least up to most.
func (w *World) draw(least, most time.Duration) time.Duration {
	return least + time.Duration(w.random()%uint64(most-least))
}

// pick returns a number below n.
func (w *World) pick(n int) int { return int(w.random() % uint64(n)) }

// powerCut returns what a disk holds after a power cut.
func (w *World) powerCut(d *simdisk.Disk) *simdisk.Disk {
	return d.PowerCut(newRNG(w.random(), 3))
}

// quarantined notes that a peer found its state to be wrong.
func (w *World) quarantined(p *peer, reason error) {
	p.change(func(f *fate) { f.gone = true })
	if !w.Quarantine {
		w.trace.Break(BreachQuarantine, "%s: %v", p.name, reason)
	}
}

// Until waits for a condition, and reports whether it came true in time.
func (w *World) Until(limit time.Duration, holds func() bool) bool {
	for end := time.Now().Add(limit); !holds(); {
		if time.Now().After(end) || w.trace.Broken() != nil || !sleep(w.ctx, 50*time.Millisecond) {
			return false
		}
	}
	return true
}
