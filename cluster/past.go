package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/history"
	"github.com/berth-gpu/berth/fsm/model"
)

// callHistory is the call for records of the cluster's history.
var callHistory = call.Define[history.Wanted, history.Given](call.Bulk, "history")

// sampleAge is the age up to which a sample describes the present.
const sampleAge = 10 * time.Second

// KeepHistory takes and fetches the records of the cluster's history, and answers other peers from them, until the
// context ends. It is called once.
func (p *Peer) KeepHistory(ctx context.Context, b *history.Book) {
	call.Handle(p.wire.server, callHistory, func(_ context.Context, _ model.PeerID, q *history.Wanted) (*history.Given, error) {
		given := b.Answer(*q)
		return &given, nil
	})
	lead := &leadership{peer: p}
	b.Run(ctx, history.World{
		State: p.State, Cluster: func() string { return p.mates.cluster(p.cfg.Cluster) }, Samples: p.freshSamples, Wall: p.cfg.Clock.Wall,
		Leader: func() (model.PeerID, uint64) { return lead.look(ctx) }, Ask: p.askHistory,
		Mates: func() []model.PeerID {
			list, _ := p.otherPeers()
			return list
		},
	})
}

// leadership is what a history knows of its peer's leadership.
type leadership struct {
	peer *Peer
	term uint64 // of the newest leadership for which the state holds all that was committed before; 0: none
}

// look returns the leader; and the term if that is this peer, and its state holds all that was committed before.
func (l *leadership) look(ctx context.Context) (leader model.PeerID, term uint64) {
	server, self := l.peer.Leader()
	if !self || !l.peer.leads() {
		return server.ID, 0
	}
	term = l.peer.raft.CurrentTerm()
	if l.term == term {
		return server.ID, term
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := l.peer.reads.wait(ctx, struct{}{}); err != nil || l.peer.raft.CurrentTerm() != term {
		return server.ID, 0
	}
	l.term = term
	return server.ID, term
}

// freshSamples returns the samples of this moment.
func (p *Peer) freshSamples() (out []model.Sample) {
	for _, r := range p.tenure.soft.Board.All() {
		if r.Age <= sampleAge {
			out = append(out, r.Sample)
		}
	}
	return out
}

func (p *Peer) askHistory(ctx context.Context, of model.PeerID, q history.Wanted) (history.Given, error) {
	members := p.Status().Servers
	i := indexOf(members, of)
	if i < 0 {
		return history.Given{}, fmt.Errorf("peer %s is no member", of)
	}
	given, err := call.Do(ctx, p.wire.client, members[i], callHistory, &q)
	if err != nil {
		return history.Given{}, err
	}
	return *given, nil
}
