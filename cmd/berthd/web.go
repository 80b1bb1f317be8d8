package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cluster/history"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/backups"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/httpapi"
	"github.com/berth-gpu/berth/httpapi/admin"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/issue"
	"github.com/berth-gpu/berth/httpapi/members"
	"github.com/berth-gpu/berth/httpapi/plug"
	"github.com/berth-gpu/berth/trust"
)

// drainLimit bounds the requests that are under way at the end.
const drainLimit = 2 * time.Second

// web is a server's HTTP side.
type web struct {
	listener net.Listener
	local    net.Listener // for root on this machine; nil: there is none
	api      *core.API
	stop     context.CancelFunc
	failed   chan error
	refused  *archive.Refusals
	reads    *archive.Refusals
}

// listen binds the address, before other parts are started.
func (w *web) listen(o *options, credentials *trust.Credentials, log *slog.Logger) error {
	l, err := net.Listen("tcp", o.http)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: another process listens on this address; stop it, or choose another with server.http (--http)", o.http)
	case err != nil:
		return fmt.Errorf("the API cannot listen: %w; choose another address with server.http (--http)", err)
	}
	if o.public[0] != "" {
		public, err := trust.OpenPublic(o.public[0], o.public[1])
		if err != nil {
			return errors.Join(err, l.Close())
		}
		public.OnFailure(func(err error) {
			log.Warn("tls_cert_not_reloaded", "err", err, "remedy", "the former certificate is shown until the files are right")
		})
		credentials.Show(public)
	}
	w.listener = &trust.Listener{
		Listener: l, Config: credentials.Server(trust.DemandMember), Plain: cli.OnLoopback(o.http),
		Former: credentials.Former,
	}
	return nil
}

// listenLocal opens the socket for root. Without the socket the peer works all the same.
func (w *web) listenLocal(o *options, log *slog.Logger) {
	path := filepath.Join(o.data, trust.LocalSocket)
	l, err := trust.ListenLocal(path)
	if err != nil {
		log.Warn("no_local_socket", "path", path, "err", err, "remedy", "administer this cluster by the address of the API and a token")
		return
	}
	w.local = l
}

// serve starts to answer requests.
func (w *web) serve(s *service) error {
	tails, err := soft.OpenTails(filepath.Join(s.o.data, "tails"))
	if err != nil {
		return errors.Join(err, w.listener.Close())
	}
	w.refused = archive.OpenRefusals(archive.Rotation{Dir: filepath.Join(s.o.data, "refusals"), Size: 16 << 20, Keep: 8}, s.log)
	w.reads = archive.OpenReads(archive.Rotation{Dir: filepath.Join(s.o.data, "reads"), Size: 16 << 20, Keep: 8}, s.log)
	joint := plug.New(plug.Config{Peer: s.peer, Log: s.log})
	present := joint.State
	s.revocations.present.Store(&present)
	answers, calls := s.peer.Calls()
	effect, past := &shadow{state: joint.State, log: s.log}, history.NewBook(history.Config{Path: filepath.Join(s.o.data, "history", "cluster.json"), Log: s.log})
	metrics := []prometheus.Collector{effect}
	if s.o.backup.Dir != "" {
		s.keeper = &backup.Keeper{Schedule: s.o.backup, Cluster: s.o.cluster, Now: now, Log: s.log}
		metrics = append(metrics, backups.Metrics{Keeper: s.keeper})
	}
	keys := &issue.Keyring{
		Dir: s.trustDir(), Credentials: s.credentials,
		Present: func() membership.Trust { st := joint.State(); return st.Trust() }, Now: now, Sealing: s.sealing,
	}
	var heard func(trust.Role, string) string
	var reach func(context.Context, trust.Role, string) (string, error)
	if s.rumours != nil {
		metrics, heard, reach = append(metrics, s.rumours), s.rumours.state, s.rumours.reach
	}
	api := httpapi.New(core.Config{
		Self: s.o.id, Version: build.Version(), Dial: agentDial(s.credentials, joint.State), Prove: issue.ByCertificate(s.credentials),
		Judge: s.credentials.Judge, Apart: s.peer.Apart,
		Expires: func() time.Time { return s.credentials.Leaf().NotAfter },
		Store:   s.figures, Sealing: s.sealing,
		Authority: keys, Trusted: keys.Material, Probe: trust.Probe, Log: s.log, Settings: shared{},
		Gossip: heard, Reach: reach, Metrics: metrics, Asks: s.o.api.asks, Terms: s.o.api.terms,
		Own: append(trust.NamesOf(s.credentials.Leaf()), s.o.http, s.o.reached), Hosts: s.o.api.hosts,
		Peer: core.Peer{
			Proposer: joint, Reader: joint, Members: joint, Telemetry: s.peer.Soft().Board, Tails: tails, Beats: s.peer.Soft().Beats,
			Archive: s.peer.Archive(), Refusals: w.refused, Reads: w.reads,
			Feed: s.peer.Soft().Feed, History: past, Answers: answers, Calls: calls,
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	w.api, w.stop, w.failed = api, stop, make(chan error, 1)
	go joint.Watch(ctx)
	go s.peer.KeepHistory(ctx, past)
	if s.rumours != nil {
		go s.rumours.watch(ctx, func() {})
	}
	keys.Fetch = members.FetchSecrets(api)
	go (&trust.Renewal{
		Dir: keys.Dir, Credentials: s.credentials, Sign: members.Recording(api, keys.Sign), Now: now, Log: s.log,
		Follow: members.Following(api),
	}).Run(ctx)
	go members.KeepSealing(ctx, api)
	go members.RecordOwn(ctx, api, s.credentials.Leaf())
	go effect.run(ctx)
	if s.keeper != nil {
		s.keeper.Source, s.keeper.Trusted = members.BackupSource(api), keys.Material
		go s.keeper.Run(ctx, firstBackup())
	}
	go core.FoundAccess(ctx, api, s.tellFirst)
	go admin.CheckRecords(ctx, api)
	w.answer(&s.o, s.log)
	return nil
}

// answer serves the API at its address, and at the socket for root.
func (w *web) answer(o *options, log *slog.Logger) {
	if w.listenLocal(o, log); w.local != nil {
		go func() {
			if err := w.api.Serve(w.local); err != nil {
				log.Warn("no_local_socket", "err", err)
			}
		}()
	}
	go func() {
		if err := w.api.Serve(w.listener); err != nil {
			w.failed <- fmt.Errorf("%s: the API has stopped: %w", o.http, err)
		}
	}()
}

// figures returns those of the data folder, for the list of peers.
func (s *service) figures() (peer.Store, error) {
	st, err := s.store.Stats()
	var made peer.Backup
	if s.keeper != nil {
		now := s.keeper.Standing()
		made = peer.Backup{Every: s.o.backup.Every, Newest: now.Newest, Failure: now.Failure}
		if made.Failure == "" && now.Future > 0 {
			made.Failure = fmt.Sprintf("%d backups in %s have a time in the future and do not count: look at the clocks of the peers, and remove the files (berth backup list)", now.Future, s.o.backup.Dir)
		}
	}
	return peer.Store{
		Backup: made, SnapshotIndex: st.SnapshotIndex, SnapshotAt: st.SnapshotAt, SnapshotBytes: st.SnapshotBytes, LogBytes: st.LogBytes,
		Free: st.Space.Free, Total: st.Space.Total,
	}, err
}

// firstBackup returns how long after the start this peer looks at the folder of backups: peers that share a folder must not
// all make the first one.
func firstBackup() time.Duration {
	return 10*time.Second + time.Duration(rand.N(int64(time.Minute))) //nolint:gosec // no secret: it spreads peers
}

// tellFirst prints the first token outside the log: logs are kept and read by others.
func (s *service) tellFirst(token string) {
	fmt.Fprintf(s.first, "berth: this cluster requires authentication now. The first token, good for one hour and for making one other:\n\n  %s\n\n"+
		"  BERTH_TOKEN=%s berth token create --user NAME --role admin --address %s\n\n", token, token, s.o.http)
}

// drain accepts no more requests, and answers those that are under way; the channel is closed once
// that is done.
func (w *web) drain() <-chan struct{} {
	done := make(chan struct{})
	if w.api == nil {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
		defer cancel()
		// Requests that are not answered by then are cut off, which clients must handle anyway.
		_ = w.api.Shutdown(ctx)
		w.stop()
	}()
	return done
}
