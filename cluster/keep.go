package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// keeper is a peer as it archives what leaves the state.
type keeper struct{ *Peer }

// archiveLimit bounds a query to another peer's archive.
const archiveLimit = 5 * time.Second

// applied returns the archive's hook for the FSM; nil without an archive.
func (p keeper) applied() func(state.State, state.Changes) {
	if p.cfg.Archive == nil {
		return nil
	}
	return p.cfg.Archive.Note
}

func (p keeper) run(ctx context.Context) {
	if p.cfg.Archive == nil {
		return
	}
	p.cfg.Archive.Run(ctx, archive.World{State: p.State, Mates: p.others, Records: p.askRecords, Histories: p.askHistories})
}

// others returns the other members; they are known once this peer is a member.
func (p keeper) others() (out []model.PeerID, known bool) {
	for _, s := range p.Status().Servers {
		if s.ID == p.cfg.Self.ID {
			known = true
			continue
		}
		out = append(out, s.ID)
	}
	return out, known
}

func (p keeper) handleCalls() {
	p.wire.server.Handle(methodRecords, func(_ context.Context, _ string, body []byte) ([]byte, error) {
		return answerFrom(p.cfg.Archive, body, (*archive.Archive).Records)
	})
	p.wire.server.Handle(methodHistories, func(_ context.Context, _ string, body []byte) ([]byte, error) {
		return answerFrom(p.cfg.Archive, body, (*archive.Archive).Histories)
	})
}

// answerFrom answers another peer's query to the archive.
func answerFrom[Q, A any](a *archive.Archive, body []byte, look func(*archive.Archive, Q) (A, error)) ([]byte, error) {
	var q Q
	if err := cbor.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("reading a question to the archive: %w", err)
	}
	if a == nil {
		return nil, &raftnet.RemoteError{Code: codeNoArchive, Text: "this peer keeps no archive"}
	}
	answer, err := look(a, q)
	if err != nil {
		return nil, &raftnet.RemoteError{Code: codeNoArchive, Text: err.Error()}
	}
	return cbor.Marshal(answer)
}

func (p keeper) askRecords(ctx context.Context, of model.PeerID, q archive.RecordsWanted) (archive.RecordsGiven, error) {
	return askArchive[archive.RecordsGiven](ctx, p, of, methodRecords, q)
}

func (p keeper) askHistories(ctx context.Context, of model.PeerID, q archive.HistoriesWanted) (archive.HistoriesGiven, error) {
	return askArchive[archive.HistoriesGiven](ctx, p, of, methodHistories, q)
}

func askArchive[A any](ctx context.Context, p keeper, of model.PeerID, method uint8, q any) (a A, err error) {
	members := p.Status().Servers
	i := indexOf(members, of)
	if i < 0 {
		return a, fmt.Errorf("peer %s is no member", of)
	}
	ctx, cancel := context.WithTimeout(ctx, archiveLimit)
	defer cancel()
	err = exchanger(p).call(ctx, members[i].Address, method, q, &a)
	return a, err
}

// archived returns the index up to which this peer's archive is complete.
func (p keeper) archived() uint64 {
	if p.cfg.Archive == nil {
		return 0
	}
	return p.cfg.Archive.Standing().CompleteTo
}

// archivedByMost returns the index up to which the archives of a majority of the members are complete, by
// their last reports.
func (p keeper) archivedByMost() uint64 {
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
