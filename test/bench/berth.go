package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// The workloads of a Berth peer.
const (
	loadRenew  = "renew"  // a node's lease renewed: the smallest command and the most frequent
	loadSubmit = "submit" // a job of one line, that waits in the queue
	loadTouch  = "touch"  // the running switch set to what it is
)

// place is the data folder of a peer and the members that it knows.
type place struct {
	id, dir string
	peers   []peer.Server
}

func (p *place) address() string {
	for _, s := range p.peers {
		if string(s.ID) == p.id {
			return s.Address
		}
	}
	return ""
}

// berthPeer is a Berth peer over TCP and a data folder, as berth server runs it.
type berthPeer struct {
	store *raftstore.Store
	peer  *cluster.Peer
}

type clock struct{}

func (clock) Wall() time.Time { return time.Now() }

func (clock) Boot() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano())
}

func startBerth(at place) (engine, error) {
	store, err := raftstore.Open(raftstore.Options{Dir: at.dir, PeerID: at.id, ClusterID: "bench", Ballast: -1})
	if err != nil {
		return nil, err
	}
	peer, err := cluster.Start(cluster.Config{
		Self:    model.Peer{ID: model.PeerID(at.id), RaftAddress: at.address(), Level: command.Level, Version: "bench"},
		Cluster: "bench", Network: raftnet.TCP{}, Clock: clock{},
		Stores: cluster.Stores{Log: store.Logs(), Stable: store.Stable(), Snapshots: store.Snapshots(), Folder: store},
		Halt:   func(reason error) { fmt.Fprintln(os.Stderr, "halt:", reason); os.Exit(1) },
	})
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err = peer.Bootstrap(ctx, at.peers)
		cancel()
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &berthPeer{store, peer}, nil
}

func (b *berthPeer) close() error {
	b.peer.Kill()
	return b.store.Close()
}

func (b *berthPeer) status() status {
	s, now := b.peer.Status(), b.peer.State()
	set := now.Settings()
	return status{Leads: s.Role == peer.RoleLeader && !set.Incarnation.IsZero(), Term: s.Term, Applied: s.Applied}
}

// do carries out one command.
func (b *berthPeer) do(actor string, body command.Body) (command.Result, error) {
	c, err := command.New(actor, body)
	if err != nil {
		return command.Result{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	results, _, err := b.peer.Propose(ctx, c)
	if err != nil {
		return command.Result{}, err
	}
	if r := results[0]; !r.OK() {
		return r, fmt.Errorf("%s: %s", r.Code, r.Detail)
	}
	return results[0], nil
}

func (b *berthPeer) workload(name string, callers int) (proposer, error) {
	switch name {
	case loadTouch:
		return func(int) error { return second(b.do("user:bench", &command.SetRunning{Running: true})) }, nil
	case loadSubmit:
		return func(int) error { return second(b.do("user:bench", oneLineJob())) }, nil
	case loadRenew:
		return b.renewals(callers)
	}
	return nil, fmt.Errorf("there is no workload %q", name)
}

func second[T any](_ T, err error) error { return err }

func oneLineJob() *command.Submit {
	return &command.Submit{Tasks: 1, Spec: model.Spec{
		Name: "train", User: "bench", Class: model.ClassNormal, Command: "python train.py --epochs 3", GPUs: 1,
		OnLost: model.OnLostRequeue, DisconnectGrace: model.DefaultDisconnectGrace, Grace: 30 * time.Second,
	}}
}

// renewals registers a node for each caller, which then renews its lease.
func (b *berthPeer) renewals(callers int) (proposer, error) {
	leases := make([]command.Renewal, callers)
	errs := make([]error, callers)
	var work sync.WaitGroup
	for i := range leases {
		work.Go(func() { leases[i], errs[i] = b.register(fmt.Sprintf("n%d", i)) })
	}
	work.Wait()
	return func(i int) error {
		leases[i].Seq++
		r, err := b.do("peer:bench", &command.Renew{Renewals: leases[i : i+1 : i+1]})
		if err == nil && (len(r.Verdicts) != 1 || r.Verdicts[0] != model.CodeOK) {
			err = fmt.Errorf("the renewal was refused: %v", r.Verdicts)
		}
		return err
	}, errors.Join(errs...)
}

func (b *berthPeer) register(id string) (command.Renewal, error) {
	r, err := b.do("node:"+id, &command.Register{
		Node: model.NodeID(id), Machine: "machine-" + id, Boot: "boot", Lineage: "lineage", Session: "session",
		Devices: []model.Device{{ID: model.GPUID("gpu-" + id), Model: "H200", MemoryMB: 141 << 10, Health: model.HealthHealthy, Idle: true}},
	})
	now := b.peer.State()
	return command.Renewal{Node: model.NodeID(id), Incarnation: now.Settings().Incarnation, Epoch: r.Number}, err
}
