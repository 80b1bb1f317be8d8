//berth:bubble

package raftnet_test

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

var r695Runs = flag.Int("r695", 60, "how often to play the scenario of hashicorp/raft#695 with the guard on")

// TestHeartbeatsGoThroughTheMainGoroutine plays hashicorp/raft#695: with raft's own way of handling
// heartbeats the commands that peers apply come to differ, with ours never.
func TestHeartbeatsGoThroughTheMainGoroutine(t *testing.T) {
	for seed := range *r695Runs {
		if wrong := play695(t, uint64(seed), raftnet.Unguarded{}); wrong != "" {
			t.Fatalf("guard on, seed %d: %s", seed, wrong)
		}
	}
	for seed := range 200 {
		if wrong := play695(t, uint64(seed), raftnet.Unguarded{FastHeartbeats: true}); wrong != "" {
			t.Logf("guard off, seed %d: %s", seed, wrong)
			return
		}
	}
	t.Error("guard off: nothing wrong in 200 runs; the scenario no longer shows the hazard")
}

// scene is the scenario of hashicorp/raft#695. A leader, n0, is cut off while it writes; its log is then the
// longest and it wins again, but stalls on the news of its own leadership. The others elect another leader,
// whose heartbeats reach n0 while its entries do not.
type scene struct {
	*cluster
	news  chan bool     // n0's leadership events
	stall chan struct{} // stops n0's reading of them, and lets it go on
	over  chan struct{}
}

// play695 returns what went wrong with the committed state, or "".
func play695(t *testing.T, seed uint64, unguarded raftnet.Unguarded) (wrong string) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{news: make(chan bool), stall: make(chan struct{}), over: make(chan struct{})}
		s.cluster = startCluster(t, clusterConfig{seed: seed, unguarded: unguarded, tune: s.tune})
		go s.read()
		n0 := s.peers[0]
		s.isolateWriting(t, n0, 3+int(seed%4))
		s.winAgain(n0)
		acknowledged := s.replace(n0)
		s.mend()
		time.Sleep(3 * time.Second)
		wrong = s.judge(acknowledged)
		close(s.over)
		s.stop(t)
	})
	return wrong
}

// tune makes n0 the first to stand.
func (s *scene) tune(peer int, c *raft.Config) {
	if peer == 0 {
		c.NotifyCh = s.news
	} else {
		c.HeartbeatTimeout, c.ElectionTimeout = 600*ms, 600*ms
	}
}

func (s *scene) read() {
	for {
		select {
		case <-s.news:
		case <-s.stall:
			<-s.stall
		case <-s.over:
			return
		}
	}
}

func (s *scene) isolateWriting(t *testing.T, n0 *peer, entries int) {
	for s.leader() != n0 {
		_ = s.leader().raft.LeadershipTransferToServer("n0", "n0:7000").Error() // one that fails is tried again
		time.Sleep(200 * ms)
	}
	if err := n0.apply("base"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * ms)
	s.net.Isolate("n0")
	for i := range entries {
		n0.raft.Apply(fmt.Appendf(nil, "never acknowledged %d", i), time.Second)
		time.Sleep(20 * ms) // the first one is sent and gets stuck; the others stay behind it
	}
	for n0.raft.State() == raft.Leader {
		time.Sleep(10 * ms)
	}
}

func (s *scene) winAgain(n0 *peer) {
	s.stall <- struct{}{}
	s.mend()
	for n0.raft.State() != raft.Leader {
		time.Sleep(10 * ms)
	}
}

// replace lets another peer lead and write, and then n0 go on. It returns the acknowledged commands.
func (s *scene) replace(n0 *peer) (acknowledged []string) {
	lossy := simnet.Link{Latency: ms, Jitter: ms, Loss: 0.4} // now a heartbeat overtakes the entries
	s.net.SetLink("n1", "n0", lossy)
	s.net.SetLink("n2", "n0", lossy)
	term := n0.raft.CurrentTerm()
	next := s.other(n0)
	for end := time.Now().Add(400 * ms); n0.raft.CurrentTerm() == term && time.Now().Before(end); {
		time.Sleep(ms) // until a heartbeat was handled, or should have been
	}
	s.net.Cut(next.id, "n0")
	for i := range 20 {
		if command := fmt.Sprintf("acknowledged %d", i); next.apply(command) == nil {
			acknowledged = append(acknowledged, command)
		}
	}
	s.stall <- struct{}{}
	time.Sleep(2 * time.Second)
	return acknowledged
}

// mend ends cuts and losses.
func (s *scene) mend() {
	s.net.HealAll()
	s.net.SetLink("n1", "n0", simnet.Link{Latency: ms})
	s.net.SetLink("n2", "n0", simnet.Link{Latency: ms})
}

func (s *scene) judge(acknowledged []string) string {
	if index := s.differ(); index > 0 {
		return fmt.Sprintf("peers applied different commands at index %d", index)
	}
	leader := s.leader()
	for _, command := range acknowledged {
		if !leader.fsm.has(command) {
			return fmt.Sprintf("%q was acknowledged, and the leader never applied it", command)
		}
	}
	return ""
}
