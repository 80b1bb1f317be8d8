package apitest

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
)

// Status returns what a peer of two reports of itself.
func (p *Peer) Status() peer.Status {
	s := p.State()
	l, _ := p.Leader()
	role := peer.RoleFollower
	if l.Self {
		role = peer.RoleLeader
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var leading time.Duration
	if p.Late > 0 {
		leading = time.Second
	}
	return peer.Status{
		Leading: leading, Lag: peer.Lag{Known: true, Entries: p.Lacks},
		Passes: peer.Passes{Count: 4, Took: time.Millisecond}, Defects: peer.Defects{Commands: 1, Decisions: 2, States: 3},
		Messages: peer.Messages{Busy: 4, Malformed: 5, Foreign: 6},
		Silence:  peer.Silence{For: 7 * time.Second, Voters: p.votersNow()},
		ID:       "p1", Cluster: p.ID, Role: role, Term: 3, Leader: peer.Server{ID: l.ID}, Last: s.Index, Committed: s.Index, Applied: s.Index,
		Servers: []peer.Server{{ID: "p1", Address: p.First}, {ID: "p2", Address: p.Mate}}, Up: p.upNow(),
	}
}

// upNow returns the members that take part: p1, and the voters of a test but for one that is aside. p.mu is held.
func (p *Peer) upNow() []model.PeerID {
	if p.Late > 0 {
		if p.Late--; p.Late == 0 {
			p.Aside = ""
		}
	}
	return append([]model.PeerID{"p1"},
		slices.DeleteFunc(slices.Clone(p.Voters), func(id model.PeerID) bool { return id == "p1" || id == p.Aside })...)
}
