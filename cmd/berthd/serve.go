package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cluster/gossip"
	"github.com/berth-gpu/berth/cluster/notify"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/inspect"
	"github.com/berth-gpu/berth/cmd/internal/systemd"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/issue"
	"github.com/berth-gpu/berth/trust"
)

// ownerOnly is the umask of servers and agents: their files contain secrets and users' commands,
// and libraries create files with modes of their own.
const ownerOnly = 0o077

// endBySignal lets a panic end the program by SIGABRT. Otherwise Go's exit code is 2, which is that of wrong settings, and
// with which the units are not started again.
const endBySignal = "crash"

// Limits on the end of a server.
const (
	handOverLimit = 5 * time.Second        // for another peer to take leadership
	handOverAgain = 100 * time.Millisecond // between two tries
	endLimit      = 10 * time.Second       // for everything: a disk that hangs may never answer
	flushLimit    = 500 * time.Millisecond // for the last lines of the log
	joinPatience  = 10 * time.Second       // between two log messages about a join that takes long
)

// collectAt is by how many percent a peer's memory may grow before it is collected. A state is
// small and under load much of the time goes into collecting: twice Go's default makes submissions
// cheaper by a tenth and costs some tens of megabytes.
const collectAt = 200

// service is one server: a data folder and the peer over it.
type service struct {
	o     options
	out   *lineWriter
	first io.Writer // receives the first token
	log   *slog.Logger
	store *raftstore.Store
	peer  *cluster.Peer
	web   web

	credentials *trust.Credentials
	revocations revocations
	rumours     *rumours       // nil: no gossip
	keeper      *backup.Keeper // nil: this peer makes no backups
	sealing     *sealing.Ring
	keptPeers   []string // in the file of peers, as far as this process has written it

	settings *config.Loaded
	manager  *systemd.Manager
	leaving  atomic.Bool // the peer was removed, and answers what is under way
}

func newService(o options, settings *config.Loaded, stdout, stderr io.Writer) *service {
	return &service{o: o, out: newLineWriter(stderr, settings.Log.Format), first: stdout, settings: settings}
}

// Run opens the folder, starts the peer, and serves until the context ends; then it hands over
// leadership and ends the peer. Its error is one line for the operator.
func (s *service) Run(ctx context.Context) (err error) {
	defer func() {
		if err != nil && s.log != nil {
			s.noteEnd(cmdline.ExitCode(err), cmdline.OneLine(err))
		}
		err = s.out.report(err)
	}()
	unix.Umask(ownerOnly)
	debug.SetTraceback(endBySignal)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	var next options
	common := reloading(ctx, s.settings, func(c *config.Loaded) (err error) {
		next, err = resolve(c)
		return err
	}, s.out)
	defer common.stop()
	s.log, s.manager = common.log, common.manager
	s.manager.Status("opens " + s.o.data)
	if err := s.open(); err != nil {
		return err
	}
	if err := s.web.listen(&s.o, s.credentials, s.log); err != nil {
		return errors.Join(err, s.store.Close())
	}
	if err := s.start(); err != nil {
		return errors.Join(err, s.web.listener.Close())
	}
	if err := s.web.serve(s); err != nil {
		return errors.Join(err, s.shutdown())
	}
	common.again.On(func(*config.Config) { s.web.api.TakeOver(next.api.terms) }, termsNames...)
	go s.followAddress(ctx)
	go s.watchStanding(ctx)
	s.manager.Ready() // it listens; whether the others are there is another matter
	unfollow := s.manager.Follow(s.standing)
	defer unfollow()
	if err := s.enter(ctx); err != nil {
		return errors.Join(err, s.shutdown())
	}
	if err := inspect.ForgetEnd(s.o.data); err != nil {
		s.log.Warn("end_not_forgotten", "err", err)
	}
	go s.compare(ctx)
	select {
	case <-ctx.Done():
	case err := <-s.web.failed:
		return errors.Join(err, s.shutdown())
	}
	return s.shutdown()
}

// Close writes the queued lines of the log.
func (s *service) Close() { s.out.close(flushLimit) }

func (s *service) open() (err error) {
	switch extended, err := trust.Extend(s.trustDir(), now()); {
	case extended && err == nil:
		s.log.Warn("certificate_extended", "dir", s.trustDir(), "why", "it had expired while this peer was off; this peer gets another as soon as it runs",
			"remedy", "none, if the clock of this machine is right; nodes that were off as long need berth join node --renew")
	case err != nil:
		return err
	}
	if s.credentials, err = openCredentials(s.o.data, trust.RolePeer, string(s.o.id), now, s.revocations.revoked); err != nil {
		return err
	}
	s.o.cluster = s.credentials.Own().Cluster
	cluster := s.o.cluster
	if len(s.o.founders) == 0 {
		cluster = "" // the folder is of the cluster once the peer has joined
	}
	store, err := raftstore.Open(raftstore.Options{
		Dir: s.o.data, PeerID: string(s.o.id), ClusterID: cluster, MinFree: s.o.minFree, Level: command.Level, Logger: s.log,
	})
	if err != nil {
		return explainStore(err)
	}
	s.store = store
	switch known := store.Identity().ClusterID; {
	case known == "" && len(s.o.seeds) == 0:
		err = cmdline.Usage("%s belongs to no cluster yet: found one with server.bootstrap (--bootstrap), or join one with server.join (--join)", s.o.data)
	case known != "" && known != s.o.cluster:
		err = fmt.Errorf("%s belongs to cluster %s, and the certificate in it is of cluster %s: put the right certificate back, or name another folder with server.data_dir (--data-dir)", s.o.data, known, s.o.cluster)
	}
	if err == nil {
		err = s.openSealing()
	}
	if err != nil {
		return errors.Join(err, store.Close())
	}
	return nil
}

// openSealing opens the file of the keys by which texts of users are sealed, and takes in those of a restore.
func (s *service) openSealing() (err error) {
	if s.sealing, err = sealing.Load(s.o.sealing); err != nil {
		return err
	}
	return (&issue.Keyring{Dir: s.trustDir(), Sealing: s.sealing}).TakeSealing()
}

// trustDir returns the folder of keys and certificates.
func (s *service) trustDir() string { return filepath.Join(s.o.data, trust.Subfolder) }

// founding returns the settings that a new cluster starts with. Without authentication only programs of this machine have access, so their
// webhooks may go to it, too.
func (s *service) founding() command.Bootstrap {
	b := s.o.shared.Founding()
	if b.Notify.Allow == "" && !s.o.api.asks {
		b.Notify.Allow = notify.PublicAndLoopback
	}
	return b
}

func (s *service) start() error {
	if err := s.startGossip(); err != nil {
		return errors.Join(err, s.store.Close())
	}
	var hinted func(model.NodeID) bool
	if s.rumours != nil {
		hinted = s.rumours.silent
	}
	peer, err := cluster.Start(cluster.Config{
		Self: model.Peer{
			ID: s.o.id, RaftAddress: s.o.advertise, APIAddress: s.o.reached, PublicURL: s.o.publicURL, Level: command.Level,
			Version: build.Version(),
		},
		Cluster: s.o.cluster, Bind: s.o.listen,
		Listed:  listed(&s.o),
		Network: trust.Network{Credentials: s.credentials, Open: cli.DialPlain},
		Stores: cluster.Stores{
			Log: s.store.Logs(), Stable: s.store.Stable(), Snapshots: s.store.Snapshots(), Space: s.store.FreeSpace,
			Folder: s.store, Program: s.store,
		},
		Clock: clock{}, Logger: s.log,
		Halt: s.halt, Joined: s.store.SetCluster,
		Tuning: cluster.Tuning{
			Hinted: hinted, Timeouts: s.o.timeouts, Founding: s.founding(), LevelHold: s.o.hold,
			Webhooks: &notify.World{Dial: (&net.Dialer{Timeout: cli.HTTPDialLimit}).DialContext, Sealing: s.sealing},
		},
		Archive: archive.New(archive.Config{
			Path: filepath.Join(s.o.data, "archive", "archive.db"), Log: s.log, Verify: raftstore.VerifyBolt, Export: s.o.audit,
		}),
	})
	if err != nil {
		return errors.Join(explainStart(&s.o, err), s.rumours.close(), s.store.Close())
	}
	s.peer = peer
	s.log.Info("peer started", "peer", s.o.id, "cluster", s.o.cluster, "listen", s.o.listen, "http", s.o.http, "data", s.o.data, "version", build.Version())
	return nil
}

// startGossip announces this peer.
func (s *service) startGossip() (err error) {
	seeds := slices.Clone(s.o.seeds)
	for _, f := range s.o.founders {
		seeds = append(seeds, f.Address)
	}
	s.rumours, err = startGossip(s.o.gossip, s.credentials, gossip.Meta{
		Kind: gossip.KindPeer, ID: string(s.o.id), RaftAddr: s.o.advertise, APIAddr: s.o.reached, Level: command.Level, Version: build.Version(),
	}, seeds, s.revocations.admits, s.log)
	return explainGossip(s.o.gossip.GossipListen, err)
}

// enter founds the cluster or joins it. A peer that is already a member runs while it asks.
func (s *service) enter(ctx context.Context) error {
	if len(s.o.founders) > 0 {
		err := s.peer.Bootstrap(ctx, s.o.founders)
		switch {
		case err == nil || ctx.Err() != nil:
			return nil
		case errors.Is(err, peer.ErrWiped):
			return fmt.Errorf("%s: peer %s stops: %w", s.o.data, s.o.id, err)
		}
		return fmt.Errorf("%s: %w", s.o.data, err)
	}
	for len(s.o.seeds) > 0 && ctx.Err() == nil && s.peer.Status().Role != peer.RoleLeader { // a recovered peer leads alone
		try, cancel := context.WithTimeout(ctx, joinPatience)
		err := s.peer.Join(try, s.o.seeds)
		late := try.Err() != nil
		cancel()
		switch {
		case err == nil:
			s.log.Info("this peer is a member", "peer", s.o.id, "cluster", s.store.Identity().ClusterID)
			return nil
		case errors.Is(err, peer.ErrWiped):
			return fmt.Errorf("%s: peer %s stops: %w", s.o.data, s.o.id, err)
		case !late:
			return fmt.Errorf("%s: cannot join at %v: %w", s.o.data, s.o.seeds, err)
		}
		s.log.Warn("the join is not accepted yet: this peer asks again", "peer", s.o.id, "err", err)
	}
	return nil
}

// listed returns the peers that the settings name: where this peer looks for the others if they are not where the cluster has them.
func listed(o *options) []peer.Server {
	all := slices.Clone(o.founders)
	for _, address := range o.seeds {
		all = append(all, peer.Server{Address: address})
	}
	return all
}

// followEvery is how often a peer compares its address with the one that the cluster has.
const followEvery = 5 * time.Second

// followAddress registers the address of this peer with the cluster, where the cluster has another one: the machine may
// have moved while the peer was down.
func (s *service) followAddress(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		var others []string
		moved := false
		st := s.peer.Status()
		for _, v := range st.Servers {
			if v.ID != s.o.id {
				others = append(others, v.Address)
			} else {
				moved = v.Address != s.o.advertise
			}
		}
		if !moved {
			continue
		}
		try, cancel := context.WithTimeout(ctx, followEvery)
		var err error
		if st.Role == peer.RoleLeader {
			err = s.peer.Readdress(try)
		} else {
			err = s.peer.Join(try, others)
		}
		cancel()
		if err != nil {
			s.log.Warn("address_not_registered", "peer", s.o.id, "address", s.o.advertise, "err", err, "remedy", "the next try follows; a majority of the peers must be up. If more of them have moved, name the present addresses of all in server.bootstrap or server.join of each, and restart it")
			continue
		}
		s.log.Info("address_changed", "peer", s.o.id, "address", s.o.advertise)
	}
}

// shutdown hands over leadership while requests that are under way are still answered, then ends
// the peer and closes the folder. A peer that does not end in time ends with the process, which
// does no harm: its log survives a crash.
func (s *service) shutdown() error {
	s.log.Info("shutting down", "peer", s.o.id)
	s.manager.Stopping("")
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), handOverLimit)
		defer cancel()
		drained := s.web.drain()
		if err := s.handOver(ctx); err != nil {
			s.log.Warn("no other peer took over leadership before this peer ended", "peer", s.o.id, "err", err)
		}
		<-drained
		s.web.refused.Close()
		s.web.reads.Close()
		if err := s.rumours.close(); err != nil {
			s.log.Warn("gossip_not_ended", "err", err)
		}
		s.peer.Kill()
		done <- s.store.Close()
	}()
	select {
	case err := <-done:
		s.log.Info("peer stopped", "peer", s.o.id)
		return explainStore(err)
	case <-time.After(endLimit):
		return fmt.Errorf("%s: peer %s did not end within %s and was cut off; check the disk", s.o.data, s.o.id, endLimit)
	}
}

// handOver transfers leadership to another peer, if this one leads.
func (s *service) handOver(ctx context.Context) error {
	for {
		st := s.peer.Status()
		if st.Role != peer.RoleLeader {
			return nil
		}
		err := s.peer.Transfer(ctx, "")
		if err == nil || len(st.Silence.Voters) < 2 {
			return err
		}
		select {
		case <-time.After(handOverAgain): // a peer that has just joined or restarted may not be able to lead yet
		case <-ctx.Done():
			return err
		}
	}
}
