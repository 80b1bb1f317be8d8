package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/trust"
)

const recoverLong = `Let one peer go on alone after a majority of the peers is lost for good. Run this on the machine
of the peer with the newest state, while its server is stopped: without --yes it shows what the
peer has. Jobs and queue stay; what only the lost peers had acknowledged is lost.

The generation of the cluster is raised, so that peers that were lost can neither vote nor
serve when they come back: give their machines empty data folders, and let them join again.
Agents follow by themselves, and their jobs go on.`

// recovery is the peer of berth cluster recover.
type recovery struct {
	data    string
	address string
	at      uint64 // generation; 0: the next one
	sure    bool
}

func newRecover() *cobra.Command {
	r := &recovery{}
	cmd := &cobra.Command{
		Use: "recover", Short: "Let one peer go on alone after the loss of a majority", Long: recoverLong, Args: cli.NoArgs,
		Example: "  berth cluster recover --address 10.0.0.2:7000\n  berth cluster recover --address 10.0.0.2:7000 --yes",
		RunE:    func(cmd *cobra.Command, _ []string) error { return r.run(cmd.OutOrStdout(), cmd.ErrOrStderr()) },
	}
	cmd.Flags().StringVar(&r.data, "data-dir", "/var/lib/berth/server", "data `folder` of the peer, whose server is stopped")
	cmd.Flags().StringVar(&r.address, "address", "", "`address` under which other peers will reach this one, as in server.listen: one of this machine")
	cmd.Flags().Uint64Var(&r.at, "generation", 0, "`number` of the generation in which the cluster goes on, higher than any before (default: the next one)")
	cmd.Flags().BoolVar(&r.sure, "yes", false, "do it")
	return cmd
}

func (r *recovery) run(out, errs io.Writer) (err error) {
	if err := cli.CheckOwnAddress(r.address); err != nil {
		return cmdline.Usage("--address: %w", err)
	}
	if !ownHost(r.address) {
		return cmdline.Usage("--address: %s is no address of this machine: give one of this machine; an address that others use in its place (server.advertise) is registered when the server starts", r.address)
	}
	dir := filepath.Join(r.data, trust.Subfolder)
	m, err := trust.Load(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", r.data, err)
	}
	own, err := m.Identity()
	switch {
	case err != nil:
		return err
	case own.Role != trust.RolePeer:
		return cmdline.Usage("%s is the folder of a %s: only a peer can be recovered", r.data, own.Role)
	}
	if r.at != 0 && r.at <= m.Generation {
		return cmdline.Usage("--generation must be higher than %d, that of the folder", m.Generation)
	}
	if err := ownedHere(r.data); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := raftstore.Open(raftstore.Options{Dir: r.data, PeerID: own.Name, ClusterID: own.Cluster, Level: command.Level, Logger: log})
	if err != nil {
		return explainStore(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	term, index, err := store.Newest()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Peer %s of cluster %s, generation %d: its newest entry is of term %d, with index %d.\n", own.Name, own.Cluster, m.Generation, term, index)
	if !r.sure {
		return cmdline.Usage("nothing was changed: compare with the other peers that are left, and run this with --yes where the term is greatest, and of those where the index is")
	}
	next, err := raised(m, own, r.at)
	if err != nil {
		return err
	}
	if err := trust.Save(dir, next); err != nil { // first: a recovered peer of the former generation would be a second cluster
		return err
	}
	s, err := cluster.Recover(cluster.Config{
		Self:   model.Peer{ID: model.PeerID(own.Name), RaftAddress: r.address},
		Stores: cluster.Stores{Log: store.Logs(), Stable: store.Stable(), Snapshots: store.Snapshots()}, Logger: log,
		Archive: archive.New(archive.Config{Path: filepath.Join(r.data, "archive", "archive.db"), Log: log, Verify: raftstore.VerifyBolt}),
	})
	if err != nil {
		return fmt.Errorf("%w: %s is of generation %d already, and is recovered by running this again", err, r.data, next.Generation)
	}
	fmt.Fprintf(out, "Peer %s is the only peer of the cluster now, in generation %d, with %d jobs in its state.\n"+
		"Start the server. Then let other machines join with empty data folders and other names: berth token join peer\n", own.Name, next.Generation, s.Jobs.Len())
	return nil
}

// ownHost reports whether an address, "host:port", is one of this machine.
func ownHost(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ips, err := net.LookupHost(host)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(ips, func(ip string) bool {
		l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
		return err == nil && l.Close() == nil
	})
}

// ownedHere returns an error if a folder belongs to another account than this one.
func ownedHere(data string) error {
	info, err := os.Stat(data)
	if err != nil {
		return err
	}
	if owner, is := info.Sys().(*syscall.Stat_t); is && owner.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("nothing was changed: %s belongs to user id %d, and this command runs as %d: run it under that account, such as runuser -u berth -- berth cluster recover", data, owner.Uid, os.Geteuid())
	}
	return nil
}

// raised returns the material of a peer in a later generation; 0: the next one.
func raised(m *trust.Material, own trust.Identity, at uint64) (*trust.Material, error) {
	higher := *m
	higher.Generation = max(m.Generation+1, at)
	return higher.Certify(trust.Member{
		Role: trust.RolePeer, Name: own.Name, Names: trust.NamesOf(m.Certificate),
		Life: trust.LifeOf(m.Certificate),
	}, now())
}
