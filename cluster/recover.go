package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Recover makes the peer of a folder the only member of its cluster, with all that its log holds, and returns that state.
// No process may use the folder. It is for a cluster whose majority is lost: entries that only lost peers had are lost, and
// lost peers that come back would be a second cluster, which the generation of certificates must keep out.
func Recover(cfg Config) (state.State, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	var halted error
	f := fsm.New(fsm.Config{Halt: func(reason error) { halted = reason }, Logger: cfg.Logger, Applied: (&Peer{cfg: cfg}).archiveHook()})
	defer f.Close()
	sink := newHclogSink(cfg.Logger)
	defer sink.close()
	conf := raft.DefaultConfig()
	conf.LocalID, conf.Logger = raft.ServerID(cfg.Self.ID), sink.logger()
	alone := raft.Configuration{Servers: []raft.Server{{ID: conf.LocalID, Address: raft.ServerAddress(cfg.Self.RaftAddress)}}}
	_, nowhere := raft.NewInmemTransport("")
	err := raft.RecoverCluster(conf, f, cfg.Stores.Log, cfg.Stores.Stable, cfg.Stores.Snapshots, nowhere, alone)
	if cfg.Archive != nil { // the log that holds what is not archived yet is gone
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		cfg.Archive.Run(ctx, archive.World{State: f.State, Mates: func() ([]model.PeerID, bool) { return nil, true }})
	}
	if err = errors.Join(err, halted); err != nil {
		return state.State{}, fmt.Errorf("recovering peer %s: %w", cfg.Self.ID, err)
	}
	return f.State(), nil
}
