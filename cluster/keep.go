package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// archiveLimit bounds a query to another peer's archive.
const archiveLimit = 5 * time.Second

// archiveHook returns the archive's hook for the FSM; nil without an archive.
func (p *Peer) archiveHook() func(state.State, state.Changes) {
	if p.cfg.Archive == nil {
		return nil
	}
	return p.cfg.Archive.Note
}

func (p *Peer) keepArchive(ctx context.Context) {
	if p.cfg.Archive == nil {
		return
	}
	p.cfg.Archive.Run(ctx, archive.World{State: p.State, Mates: p.otherPeers, Records: p.askRecords, Histories: p.askHistories})
}

// otherPeers returns the other members; they are known once this peer is a member.
func (p *Peer) otherPeers() (out []model.PeerID, known bool) {
	for _, s := range p.Status().Servers {
		if s.ID == p.cfg.Self.ID {
			known = true
			continue
		}
		out = append(out, s.ID)
	}
	return out, known
}

func (p *Peer) handleArchiveCalls() {
	call.Handle(p.wire.server, callRecords, answerFrom(p.cfg.Archive, (*archive.Archive).Records))
	call.Handle(p.wire.server, callHistories, answerFrom(p.cfg.Archive, (*archive.Archive).Histories))
}

// answerFrom returns what answers queries of other peers to the archive.
func answerFrom[Q, A any](a *archive.Archive, look func(*archive.Archive, Q) (A, error)) func(context.Context, model.PeerID, *Q) (*A,
	error) {
	return func(_ context.Context, _ model.PeerID, q *Q) (*A, error) {
		if a == nil {
			return nil, &call.RemoteError{Kind: kindNoArchive, Text: "this peer keeps no archive"}
		}
		answer, err := look(a, *q)
		if err != nil {
			return nil, &call.RemoteError{Kind: kindNoArchive, Text: err.Error()}
		}
		return &answer, nil
	}
}

func (p *Peer) askRecords(ctx context.Context, of model.PeerID, q archive.RecordsWanted) (archive.RecordsGiven, error) {
	return askArchive(ctx, p, of, callRecords, &q)
}

func (p *Peer) askHistories(ctx context.Context, of model.PeerID, q archive.HistoriesWanted) (archive.HistoriesGiven, error) {
	return askArchive(ctx, p, of, callHistories, &q)
}

func askArchive[Q, A any](ctx context.Context, p *Peer, of model.PeerID, name call.Name[Q, A], q *Q) (a A, err error) {
	members := p.Status().Servers
	i := indexOf(members, of)
	if i < 0 {
		return a, fmt.Errorf("peer %s is no member", of)
	}
	ctx, cancel := context.WithTimeout(ctx, archiveLimit)
	defer cancel()
	answer, err := call.Do(ctx, p.wire.client, members[i], name, q)
	if err != nil {
		return a, err
	}
	return *answer, nil
}

// archived returns the index up to which this peer's archive is complete.
func (p *Peer) archived() uint64 {
	if p.cfg.Archive == nil {
		return 0
	}
	return p.cfg.Archive.Standing().CompleteTo
}

// archivedByMost returns the index up to which the archives of a majority of the members are complete, by
// their last reports.
func (p *Peer) archivedByMost() uint64 {
	members := p.Status().Servers
	all := make([]uint64, len(members)) // a peer without a report has archived nothing
	for i, v := range p.mates.of(members, p.cfg.Clock.Boot()) {
		all[i] = v.hello.Archived
	}
	if len(all) == 0 {
		return 0
	}
	all[len(all)-1] = p.archived() // there is always room: this peer has no report of itself
	slices.Sort(all)
	return all[len(all)-(len(all)/2+1)]
}

// Archive returns this peer's archive; nil without one.
func (p *Peer) Archive() *archive.Archive { return p.cfg.Archive }
