//berth:bubble

package raftnet_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/test/sim/simnet"
)

var faultRuns = flag.Int("faults", 15, "how many random histories of faults to play")

// TestRandomFaults looks for what answering in place might break: while disks stall, links are cut and lossy
// and leadership is transferred, no term may have two leaders, no two peers apply different commands at one
// index, no acknowledged command be lost, and the cluster writes again soon after the last fault.
func TestRandomFaults(t *testing.T) {
	answers, acknowledged := uint64(0), 0
	for seed := range *faultRuns {
		a, n := playFaults(t, uint64(seed))
		answers, acknowledged = answers+a, acknowledged+n
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d heartbeats answered in place, %d commands acknowledged", answers, acknowledged)
	if answers == 0 || acknowledged < 50**faultRuns {
		t.Errorf("%d heartbeats answered in place, %d commands acknowledged: too few to show anything", answers, acknowledged)
	}
}

// history is one run of random faults.
type history struct {
	*cluster
	rng          *rand.Rand
	leaders      map[uint64]string // by term
	acknowledged []string
}

func playFaults(t *testing.T, seed uint64) (answers uint64, acknowledged int) {
	synctest.Test(t, func(t *testing.T) {
		h := &history{rng: rand.New(rand.NewPCG(seed, 2)), leaders: map[uint64]string{}}
		h.cluster = startCluster(t, clusterConfig{seed: seed})
		for step := range 600 {
			if step%20 == 0 && step < 500 {
				h.fault()
			}
			h.look(t)
			h.write(step)
		}
		h.calm()
		time.Sleep(5 * time.Second)
		if err := h.leader().apply("last"); err != nil {
			t.Error("no writing five seconds after the last fault:", err)
		}
		time.Sleep(time.Second)
		h.judge(t)
		for _, p := range h.peers {
			answers += p.transport.BusyAnswers()
		}
		acknowledged = len(h.acknowledged)
		h.stop(t)
	})
	return answers, acknowledged
}

func (h *history) fault() {
	one, other := h.peers[h.rng.IntN(3)], h.peers[h.rng.IntN(3)]
	switch h.rng.IntN(12) {
	case 0:
		h.net.Isolate(one.id)
	case 1:
		h.net.Cut(one.id, other.id)
	case 2, 3:
		one.log.stall(time.Duration(h.rng.IntN(1500))*ms, nil)
	case 4:
		one.log.stall(time.Duration(h.rng.IntN(600))*ms, nil)
		other.log.stall(time.Duration(h.rng.IntN(600))*ms, nil)
	case 5:
		one.raft.LeadershipTransfer()
	case 6:
		h.net.SetDefault(simnet.Link{Latency: ms, Jitter: 20 * ms, Loss: h.rng.Float64() * 0.2})
	default:
		h.calm()
	}
}

func (h *history) calm() {
	h.net.HealAll()
	h.net.SetDefault(simnet.Link{Latency: ms, Jitter: ms})
}

func (h *history) look(t *testing.T) {
	for _, p := range h.peers {
		term, leads := p.leads()
		if !leads {
			continue
		}
		if before := h.leaders[term]; before != "" && before != p.id {
			t.Errorf("term %d has two leaders, %s and %s", term, before, p.id)
		}
		h.leaders[term] = p.id
	}
}

func (h *history) write(step int) {
	for _, p := range h.peers {
		if _, leads := p.leads(); leads {
			command := fmt.Sprintf("%s %d", p.id, step)
			if p.raft.Apply([]byte(command), 50*ms).Error() == nil {
				h.acknowledged = append(h.acknowledged, command)
			}
			break
		}
	}
	time.Sleep(10 * ms)
}

func (h *history) judge(t *testing.T) {
	if index := h.differ(); index > 0 {
		t.Errorf("peers applied different commands at index %d", index)
	}
	for _, p := range h.peers {
		for _, command := range h.acknowledged {
			if !p.fsm.has(command) {
				t.Errorf("%s has not applied %q, which was acknowledged", p.id, command)
				return
			}
		}
	}
}
