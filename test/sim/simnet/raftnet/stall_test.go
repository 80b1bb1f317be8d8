package raftnet_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftnet"
)

// TestBusyFollowersKeepTheirLeader stalls both followers' disks for longer than three heartbeat timeouts. The
// leader keeps its office while heartbeats are answered in place, and loses it when they are not.
func TestBusyFollowersKeepTheirLeader(t *testing.T) {
	if terms, answers := stallFollowers(t, raftnet.Unguarded{}); terms != 0 || answers == 0 {
		t.Errorf("answering in place: %d new terms in five stalls, %d answers; want 0, and answers", terms, answers)
	}
	if terms, answers := stallFollowers(t, raftnet.Unguarded{NoBusyAnswers: true}); terms == 0 || answers != 0 {
		t.Errorf("not answering: %d new terms in five stalls, %d answers; want new terms, and no answer", terms, answers)
	}
}

func stallFollowers(t *testing.T, unguarded raftnet.Unguarded) (terms, answers uint64) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, clusterConfig{seed: 1, unguarded: unguarded})
		leader := c.leader()
		if err := leader.apply("first"); err != nil {
			t.Fatal(err)
		}
		before := c.term()
		for range 5 {
			for _, f := range c.followers(c.leader()) {
				f.log.stall(800*ms, nil)
			}
			for range 100 {
				c.leader().raft.Apply([]byte("x"), time.Second)
				time.Sleep(20 * ms)
			}
		}
		terms = c.term() - before
		for _, p := range c.peers {
			answers += p.transport.BusyAnswers()
		}
		c.stop(t)
	})
	return terms, answers
}

// TestHungFollowersLoseTheirLeader: answers in place end, so that a leader whose followers hang for good
// steps down instead of leading without followers for ever.
func TestHungFollowersLoseTheirLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, clusterConfig{seed: 1})
		leader := c.leader()
		if err := leader.apply("first"); err != nil {
			t.Fatal(err)
		}
		for _, f := range c.followers(leader) {
			f.log.stall(time.Minute, nil)
		}
		start := time.Now()
		leader.raft.Apply([]byte("x"), time.Second)
		for leader.raft.State() == raft.Leader {
			time.Sleep(100 * ms)
		}
		if d := time.Since(start); d < 9*time.Second || d > 12*time.Second {
			t.Errorf("stepped down after %v, want ten seconds", d)
		}
		time.Sleep(time.Minute)
		c.stop(t)
	})
}

// TestReplicationIsNotPipelined plays hashicorp/raft#612: after a follower's disk stalls and fails a write,
// raft's pipeline can wait on itself for ever. Without it replication goes on.
func TestReplicationIsNotPipelined(t *testing.T) {
	for seed := range 3 {
		if wedged(t, uint64(seed), raftnet.Unguarded{}) {
			t.Fatalf("guard on, seed %d: a follower gets no entries ten seconds after its disk recovered", seed)
		}
	}
	for seed := range 50 {
		if wedged(t, uint64(seed), raftnet.Unguarded{Pipelining: true}) {
			t.Logf("guard off, seed %d: a follower gets heartbeats but no entries", seed)
			return
		}
	}
	t.Error("guard off: replication recovered in 50 runs; the scenario no longer shows the hazard")
}

var errDisk = errors.New("disk error")

func wedged(t *testing.T, seed uint64, unguarded raftnet.Unguarded) (wedged bool) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, clusterConfig{seed: seed, unguarded: unguarded})
		leader := c.leader()
		write := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * ms) {
				leader.raft.Apply([]byte("x"), time.Second)
			}
		}
		write(time.Second)
		victim := c.followers(leader)[0]
		for range 5 {
			victim.log.stall(300*ms, errDisk)
			write(600 * ms)
		}
		time.Sleep(10 * time.Second)
		wedged = victim.raft.LastIndex() < leader.raft.LastIndex()
		if wedged && (leader.raft.State() != raft.Leader || time.Since(victim.raft.LastContact()) > 200*ms) {
			t.Error("the follower is behind for another reason than a wedged pipeline")
		}
		c.stop(t)
	})
	return wedged
}

// TestFollowerCatchesUpAfterAStall bounds the time: the transport's two seconds are over before the disk is
// back, so the leader's request has failed and is sent again.
func TestFollowerCatchesUpAfterAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, clusterConfig{seed: 1})
		leader := c.leader()
		follower := c.followers(leader)[0]
		follower.log.stall(3*time.Second, nil)
		for i := range 60 {
			if err := leader.apply(fmt.Sprint("command ", i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * ms)
		}
		start := time.Now()
		for !follower.fsm.has("command 59") {
			if time.Since(start) > 2*time.Second {
				t.Fatal("the follower has not caught up two seconds after its disk came back")
			}
			time.Sleep(10 * ms)
		}
		c.stop(t)
	})
}

func TestPipelineIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, clusterConfig{seed: 1})
		if _, err := c.peers[0].transport.AppendEntriesPipeline("n1", "n1:7000"); !errors.Is(err, raft.ErrPipelineReplicationNotSupported) {
			t.Error("pipeline:", err)
		}
		c.stop(t)
	})
}
