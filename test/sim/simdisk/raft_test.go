package simdisk_test

import (
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/test/sim/simdisk"
)

//berth:bubble

// counter is a state machine that counts commands.
type counter struct{ n byte }

func (c *counter) Apply(*raft.Log) any                 { c.n++; return nil }
func (c *counter) Snapshot() (raft.FSMSnapshot, error) { return counter{c.n}, nil }
func (c counter) Release()                             {}

func (c counter) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write([]byte{c.n}); err != nil {
		return err
	}
	return sink.Close()
}

func (c *counter) Restore(r io.ReadCloser) error {
	b, err := io.ReadAll(r)
	c.n = b[0]
	return err
}

// startRaft starts a peer that is a cluster by itself, and waits until it leads.
func startRaft(t *testing.T, d *simdisk.Disk, fresh bool) (*raft.Raft, *counter, *simdisk.Handle) {
	t.Helper()
	h := d.Open()
	addr, trans := raft.NewInmemTransport("p1")
	conf := raft.DefaultConfig()
	conf.LocalID, conf.Logger, conf.TrailingLogs = "p1", hclog.NewNullLogger(), 5
	if fresh {
		check(t, raft.BootstrapCluster(conf, h.Logs(), h.Stable(), h.Snapshots(), trans,
			raft.Configuration{Servers: []raft.Server{{ID: "p1", Address: addr}}}))
	}
	fsm := &counter{}
	r, err := raft.NewRaft(conf, fsm, h.Logs(), h.Stable(), h.Snapshots(), trans)
	check(t, err)
	for r.State() != raft.Leader {
		time.Sleep(10 * time.Millisecond)
	}
	check(t, r.Barrier(time.Minute).Error())
	return r, fsm, h
}

// TestRaftSurvivesCrashes kills a peer, or cuts its power, in the middle of a command, and expects every
// acknowledged command back, through snapshots too.
func TestRaftSurvivesCrashes(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 5))
			disk := simdisk.New(seed)
			disk.SetLatency(simdisk.Latency{Read: 10 * time.Microsecond, Write: time.Millisecond, Sync: 2 * time.Millisecond})
			acked, sent := 0, 0
			for life := range 8 {
				r, fsm, h := startRaft(t, disk, life == 0)
				if n := int(fsm.n); n < acked || n > sent {
					t.Fatalf("seed %d, life %d: the state counts %d commands, %d were acknowledged of %d sent", seed, life, n, acked, sent)
				}
				acked, sent = int(fsm.n), int(fsm.n)
				for range 1 + rng.IntN(8) {
					sent++
					check(t, r.Apply(nil, 0).Error())
					acked++
				}
				if life%3 == 1 {
					check(t, r.Snapshot().Error())
				}
				sent++
				r.Apply(nil, 0)
				time.Sleep(time.Duration(rng.IntN(5000)) * time.Microsecond)
				if rng.IntN(2) == 0 {
					disk = disk.PowerCut(rng)
				}
				h.Kill()
				check(t, r.Shutdown().Error())
			}
		})
	}
}
