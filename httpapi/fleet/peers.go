package fleet

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/votes"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// probeLimit bounds the time of a request for another peer's progress.
const probeLimit = time.Second

// peers lists the cluster's peers, and reports whether this one can serve.
type peers struct{ api *core.API }

func (a peers) route(doc huma.API) {
	core.AnswerCall(a.api, progress, a.progress)
	core.Handle(a.api, doc, core.Op("peers", http.MethodGet, "/cluster/peers", "Every peer, as the answering one sees it"), a.list)
	core.Handle(a.api, doc, core.Op("healthz", http.MethodGet, "/healthz", "This peer's process is alive"),
		func(context.Context, *struct{}) (*core.Answer[wire.Health], error) {
			h := a.health()
			return &core.Answer[wire.Health]{Index: a.api.Peer.Members.Status().Applied, Body: &h}, nil
		})
	core.Handle(a.api, doc, core.Op("readyz", http.MethodGet, "/readyz", "This peer can serve: it knows a leader, is up to date and is not shutting down"), a.ready)
}

func (a peers) health() wire.Health {
	st := a.api.Peer.Members.Status()
	return wire.Health{Status: "ok", Peer: string(st.ID), Role: string(st.Role), Leader: string(st.Leader.ID)}
}

// ready fails while requests should go to another peer.
func (a peers) ready(ctx context.Context, _ *struct{}) (*core.Answer[wire.Health], error) {
	h := a.health()
	if a.api.Ending() {
		return nil, problem.Refuse(wire.CodeBehind, "this peer is shutting down")
	}
	st := a.api.Peer.Members.Status()
	switch {
	case st.Waiting != "":
		return nil, problem.Refuse(wire.CodeNoLeader, st.Waiting)
	case h.Leader == "":
		return nil, problem.Usual(wire.CodeNoLeader)
	case !st.Lag.CaughtUp():
		return nil, problem.Refuse(wire.CodeBehind, st.Lag.Why())
	}
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	if s.Settings().Incarnation.IsZero() {
		return nil, problem.Refuse(model.CodeNotBootstrapped.String(), "the cluster has no state yet")
	}
	return &core.Answer[wire.Health]{Index: s.Index, Body: &h}, nil
}

// list asks all peers at once for their progress.
func (a peers) list(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Peers], error) {
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicSettings), nil)
	if err != nil {
		return nil, err
	}
	st, clocks := a.api.Peer.Members.Status(), a.api.Peer.Members.Clocks()
	out := &wire.Peers{
		Cluster: st.Cluster, Term: st.Term, Leader: string(st.Leader.ID), ClocksDisagree: !clocks.Agree,
		Peers: make([]wire.Peer, len(st.Servers)),
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	var probes sync.WaitGroup
	for i, server := range st.Servers {
		probes.Go(func() { out.Peers[i] = a.one(ctx, &s, &st, server) })
	}
	probes.Wait()
	addLags(out.Peers)
	set := s.Settings()
	out.Standstill = set.Standstill
	out.Voters = len(st.Silence.Voters)
	up := 0
	for _, v := range out.Peers {
		if v.Voter && v.Reachable {
			up++
		}
	}
	out.Tolerates = votes.Tolerates(out.Voters, up)
	for i := range out.Peers {
		if ahead, heard := clocks.Ahead[st.Servers[i].ID]; heard {
			seconds := ahead.Round(time.Millisecond).Seconds()
			out.Peers[i].ClockOffset = &seconds
		}
	}
	return &core.Answer[wire.Peers]{Index: s.Index, Body: out}, nil
}

func (a peers) one(ctx context.Context, s *state.State, st *peer.Status, server peer.Server) wire.Peer {
	known, _ := s.Peers.Get(server.ID)
	out := wire.Peer{
		Name: string(server.ID), Address: known.APIAddress, PublicURL: known.PublicURL, RaftAddress: server.Address, Role: "follower",
		Version: known.Version, Self: server.ID == st.ID, Voter: slices.Contains(st.Silence.Voters, server.ID),
	}
	if a.api.Config.Gossip != nil {
		out.Gossip = a.api.Config.Gossip(trust.RolePeer, out.Name)
	}
	if server.ID == st.Leader.ID {
		out.Role = "leader"
	}
	got := a.own()
	if !out.Self {
		var err error
		if got, err = a.probe(ctx, server); err != nil {
			return out
		}
	}
	out.Reachable = true
	got.show(&out)
	return out
}

// show adds a peer's figures to its entry.
func (p *Progress) show(out *wire.Peer) {
	out.AppliedIndex, out.LastIndex, out.CommitIndex = p.Applied, p.Last, p.Committed
	out.LeaderContact = new(view.Seconds(p.Contact))
	out.UptimeSeconds, out.MemoryBytes = view.Seconds(p.Uptime), p.Memory
	out.LogBytes, out.DiskFreeBytes, out.DiskTotalBytes = p.LogBytes, p.Free, p.Total
	if out.SnapshotIndex, out.SnapshotBytes = p.Snapshot, p.SnapshotBytes; p.Snapshot > 0 {
		out.SnapshotAge = new(view.Seconds(p.SnapshotAge))
	}
	if out.BackupEvery, out.BackupFailure = p.BackupEvery.Seconds(), p.BackupFailure; p.BackupAge > 0 {
		out.BackupAge = new(view.Seconds(p.BackupAge))
	}
}

// addLags adds how many entries each peer that answered lacks.
func addLags(list []wire.Peer) {
	var newest uint64
	for i := range list {
		newest = max(newest, list[i].AppliedIndex)
	}
	for i := range list {
		if list[i].Reachable {
			list[i].Lag = new(newest - list[i].AppliedIndex)
		}
	}
}

var errAnother = errors.New("another peer answers there")

// Progress is how far a peer's state has come, and figures of its process and its data folder.
type Progress struct {
	Peer          model.PeerID  `cbor:"1,keyasint"`
	Applied       uint64        `cbor:"2,keyasint,omitempty"`
	Last          uint64        `cbor:"3,keyasint,omitempty"`
	Committed     uint64        `cbor:"4,keyasint,omitempty"`
	Contact       time.Duration `cbor:"5,keyasint,omitempty"` // since it heard from a leader
	Uptime        time.Duration `cbor:"6,keyasint,omitempty"`
	Memory        uint64        `cbor:"7,keyasint,omitempty"` // bytes
	Snapshot      uint64        `cbor:"8,keyasint,omitempty"` // index
	SnapshotAge   time.Duration `cbor:"9,keyasint,omitempty"`
	SnapshotBytes int64         `cbor:"10,keyasint,omitempty"`
	LogBytes      int64         `cbor:"11,keyasint,omitempty"`
	Free          uint64        `cbor:"12,keyasint,omitempty"` // bytes of the disk
	Total         uint64        `cbor:"13,keyasint,omitempty"`
	BackupEvery   time.Duration `cbor:"14,keyasint,omitempty"` // 0: the peer makes no backups
	BackupAge     time.Duration `cbor:"15,keyasint,omitempty"` // 0: there is none
	BackupFailure string        `cbor:"16,keyasint,omitempty"`
}

// progress is the call for it. A peer answers once its API does.
var progress = call.Define[struct{}, Progress](call.Control, "progress")

func (a peers) progress(context.Context, model.PeerID, *struct{}) (*Progress, error) {
	return a.own(), nil
}

// own returns this peer's progress.
func (a peers) own() *Progress {
	st, now := a.api.Peer.Members.Status(), a.api.Config.Now()
	out := &Progress{
		Peer: a.api.Config.Self, Applied: st.Applied, Last: st.Last, Committed: st.Committed, Contact: st.Silence.For,
		Uptime: now.Sub(a.api.Began), Memory: resident(),
	}
	if a.api.Config.Store == nil {
		return out
	}
	store, err := a.api.Config.Store()
	if err != nil {
		a.api.Log.Debug("the figures of the data folder cannot be read", "err", err)
		return out
	}
	out.Snapshot, out.SnapshotBytes, out.LogBytes, out.Free, out.Total = store.SnapshotIndex, store.SnapshotBytes, store.LogBytes, store.Free,
		store.Total
	out.BackupEvery, out.BackupFailure = store.Backup.Every, store.Backup.Failure
	if !store.Backup.Newest.IsZero() {
		out.BackupAge = max(now.Sub(store.Backup.Newest), 1)
	}
	if !store.SnapshotAt.IsZero() {
		out.SnapshotAge = max(now.Sub(store.SnapshotAt), 0)
	}
	return out
}

// resident returns the resident memory of this process in bytes, by the second number of its statm (proc_pid_statm(5)); 0: it is not known.
func resident() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

// probe asks a peer for its progress.
func (a peers) probe(ctx context.Context, server peer.Server) (*Progress, error) {
	got, err := core.AskPeer(ctx, a.api, server, progress, &struct{}{})
	switch {
	case err != nil:
		return nil, err
	case got.Peer != server.ID:
		return nil, errAnother
	}
	return got, nil
}
